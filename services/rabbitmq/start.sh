# RabbitMQ and, beside it, the register of names it needs. Both are of one process group and end together.
# The register takes the loopback address by itself, and would take it twice with an address of zeros, which means any.
case {address} in
*[1-9a-f]*) ;;
*) unset ERL_EPMD_ADDRESS ;;
esac
{path:epmd} -port {port:names} &
exec {path:rabbitmq-server}
