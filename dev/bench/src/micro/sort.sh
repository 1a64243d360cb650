#!/bin/sh
# Sorts by hand: starts a cluster, generates records by TeraGen, runs one job, and ends everything.
# Arguments: folder of the tools, engine, records, tasks at once, MiB of memory. Prints one JSON object.
set -eu
tools=$1 engine=$2 records=$3 tasks=$4 memory=$5
here=$(mktemp -d)
cluster=
end() {
    # shellcheck disable=SC2086
    [ -z "$cluster" ] || kill -9 $cluster 2>"$here/ends" || true
    rm -rf "$here"
}
trap end EXIT
trap 'exit 1' TERM INT
now() { date +%s%N; }
spark() { "$tools/spark/spark" "$@" >>"$here/log" 2>&1; }
hadoop() { "$tools/hadoop/hadoop" "$@" >>"$here/log" 2>&1; }
# Starts a service and keeps its number.
start() {
    name=$1
    shift
    "$tools/$name/$name" "$@" >>"$here/log" 2>&1 &
    cluster="$cluster $!"
}
# Waits until a page has the words.
until_it_says() {
    tries=0
    until wget -q -O - "$1" | grep -q "$2"; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || { tail -n 20 "$here/log"; exit 1; }
        sleep 0.1
    done
}
task=$((memory / tasks))
examples=org.apache.hadoop.examples.terasort
hadoop -Xmx512m $examples.TeraGen -Dmapreduce.framework.name=local "-Dhadoop.tmp.dir=$here/tmp" "$records" "$here/input"
rm -f "$here/input/_SUCCESS"
case $engine in
spark)
    export SPARK_LOCAL_IP=127.0.0.1 SPARK_LOCAL_DIRS="$here/local"
    start spark -Xmx512m org.apache.spark.deploy.master.Master --host 127.0.0.1 --port 27077 --webui-port 28080
    start spark -Xmx256m org.apache.spark.deploy.worker.Worker --host 127.0.0.1 --port 27078 --webui-port 28081 \
        --cores "$tasks" --memory "${memory}m" --work-dir "$here/work" spark://127.0.0.1:27077
    until_it_says http://127.0.0.1:28080/json/ '"aliveworkers" : 1'
    parts=$(((records * 100 + 67108863) / 67108864))
    [ "$parts" -ge "$tasks" ] || parts=$tasks
    began=$(now)
    spark -Xmx512m -Dspark.master=spark://127.0.0.1:27077 -Dspark.driver.host=127.0.0.1 \
        -Dspark.driver.bindAddress=127.0.0.1 -Dspark.ui.enabled=false -Dspark.scheduler.minRegisteredResourcesRatio=1 "-Dspark.executor.cores=$tasks" \
        "-Dspark.executor.memory=${memory}m" SparkSort "$here/input" "$here/output" "$parts"
    ended=$(now)
    ;;
hadoop)
    mkdir "$here/conf"
    {
        echo '<configuration>'
        while read -r key value; do
            echo "<property><name>$key</name><value>$value</value></property>"
        done <<EOF
yarn.resourcemanager.hostname 127.0.0.1
yarn.resourcemanager.address 127.0.0.1:28032
yarn.resourcemanager.scheduler.address 127.0.0.1:28030
yarn.resourcemanager.resource-tracker.address 127.0.0.1:28031
yarn.resourcemanager.admin.address 127.0.0.1:28033
yarn.resourcemanager.webapp.address 127.0.0.1:28088
yarn.nodemanager.address 127.0.0.1:28041
yarn.nodemanager.localizer.address 127.0.0.1:28040
yarn.nodemanager.webapp.address 127.0.0.1:28042
mapreduce.shuffle.port 28043
yarn.nodemanager.aux-services mapreduce_shuffle
yarn.nodemanager.local-dirs $here/local
yarn.nodemanager.log-dirs $here/logs
yarn.nodemanager.resource.cpu-vcores $((tasks + 1))
yarn.nodemanager.resource.memory-mb $((memory + 512))
yarn.nodemanager.vmem-check-enabled false
yarn.scheduler.minimum-allocation-mb 128
yarn.scheduler.capacity.root.queues default
yarn.scheduler.capacity.root.default.capacity 100
yarn.scheduler.capacity.maximum-am-resource-percent 1
yarn.scheduler.capacity.resource-calculator org.apache.hadoop.yarn.util.resource.DominantResourceCalculator
EOF
        echo '</configuration>'
    } >"$here/conf/yarn-site.xml"
    cp "$here/conf/yarn-site.xml" "$here/conf/capacity-scheduler.xml"
    export HADOOP_CONF_DIR="$here/conf"
    start hadoop -Xmx512m org.apache.hadoop.yarn.server.resourcemanager.ResourceManager
    start hadoop -Xmx512m org.apache.hadoop.yarn.server.nodemanager.NodeManager
    until_it_says http://127.0.0.1:28088/ws/v1/cluster/metrics '"activeNodes":1'
    jars="$tools/hadoop/jars/*"
    began=$(now)
    hadoop -Xmx512m $examples.TeraSort -Dmapreduce.framework.name=yarn "-Dhadoop.tmp.dir=$here/tmp" \
        "-Dyarn.application.classpath=$jars" "-Dmapreduce.application.classpath=$jars" \
        "-Dyarn.app.mapreduce.am.staging-dir=$here/staging" "-Dmapreduce.job.working.dir=file:$here/output" \
        -Dyarn.app.mapreduce.am.resource.mb=512 \
        "-Dyarn.app.mapreduce.am.command-opts=-Xmx384m --add-opens=java.base/java.lang=ALL-UNNAMED" \
        "-Dmapreduce.map.memory.mb=$task" "-Dmapreduce.map.java.opts=-Xmx$((task * 3 / 4))m" \
        "-Dmapreduce.reduce.memory.mb=$task" "-Dmapreduce.reduce.java.opts=-Xmx$((task * 3 / 4))m" \
        "-Dmapreduce.task.io.sort.mb=$((task / 4))" -Dmapreduce.input.fileinputformat.split.minsize=134217728 \
        "-Dmapreduce.job.reduces=$tasks" "$here/input" "$here/output"
    ended=$(now)
    ;;
esac
bytes=$(cat "$here"/output/part-* | wc -c)
[ "$bytes" -eq $((records * 100)) ] || { echo "$bytes bytes came out"; exit 1; }
nanos=$((ended - began))
echo "{\"sort_s\": $((nanos / 1000000000)).$(printf %09d $((nanos % 1000000000)))}"
