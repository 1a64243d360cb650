import java.io.IOException;
import java.io.Serializable;
import java.nio.ByteBuffer;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapreduce.RecordWriter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.input.FixedLengthInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/**
 * Sorts a file of records of 100 bytes by their first 10 bytes into several files, whose names are in the order of their keys.
 *
 * <p>Arguments: the file, the folder of the result, the number of its files.
 */
public final class SparkSort {
    private static final int RECORD = 100;

    private SparkSort() {}

    public static void main(String[] arguments) {
        var parts = Integer.parseInt(arguments[2]);
        try (var spark = new JavaSparkContext(new SparkConf().setAppName("sort"))) {
            var settings = spark.hadoopConfiguration();
            FixedLengthInputFormat.setRecordLength(settings, RECORD);
            spark.newAPIHadoopFile(
                    arguments[0], FixedLengthInputFormat.class, LongWritable.class, BytesWritable.class, settings)
                .mapToPair(read -> {
                    var record = read._2().copyBytes();
                    return new Tuple2<>(new Key(record), record);
                })
                .sortByKey(true, parts)
                .mapToPair(sorted -> new Tuple2<>(NullWritable.get(), new BytesWritable(sorted._2())))
                .saveAsNewAPIHadoopFile(arguments[1], NullWritable.class, BytesWritable.class, RecordFiles.class);
        }
    }

    /** The first 10 bytes of a record, in their order. */
    public static final class Key implements Comparable<Key>, Serializable {
        private static final long serialVersionUID = 1;
        private final long first;
        private final char rest;

        Key(byte[] record) {
            var bytes = ByteBuffer.wrap(record);
            first = bytes.getLong();
            rest = bytes.getChar();
        }

        @Override
        public int compareTo(Key other) {
            var order = Long.compareUnsigned(first, other.first);
            return order == 0 ? Character.compare(rest, other.rest) : order;
        }
    }

    /** Files of records without anything between them. */
    public static final class RecordFiles extends FileOutputFormat<NullWritable, BytesWritable> {
        @Override
        public RecordWriter<NullWritable, BytesWritable> getRecordWriter(TaskAttemptContext context)
                throws IOException {
            var path = getDefaultWorkFile(context, "");
            var file = path.getFileSystem(context.getConfiguration()).create(path, false);
            return new RecordWriter<>() {
                @Override
                public void write(NullWritable none, BytesWritable record) throws IOException {
                    file.write(record.getBytes(), 0, record.getLength());
                }

                @Override
                public void close(TaskAttemptContext context) throws IOException {
                    file.close();
                }
            };
        }
    }
}
