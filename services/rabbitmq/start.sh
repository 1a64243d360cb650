# RabbitMQ and, beside it, the register of names it needs. Both are of one process group and end together.
{path:epmd} -port {port:names} -address {address} &
exec {path:rabbitmq-server}
