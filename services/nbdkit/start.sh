#!/bin/sh
set -- --foreground --ipaddr {address} --port {port:main} --newstyle
{each:filters}
set -- "$@" --filter={item}
{end}
exec {path:nbdkit} "$@" memory size={bytes}
