//! Ctrl-C while virtual machines are deployed, as in the other `interrupted_in`.

use crate::interrupted_in::INTERRUPTED;

mod virtual_machines {
    crate::phases::moments! { super::INTERRUPTED, "vm", deploy = crate::phases::DEPLOY_AT_ONCE }
}

mod containers_in_virtual_machines {
    crate::phases::moments! { super::INTERRUPTED, "container-in-vm", deploy = crate::phases::DEPLOY_AT_ONCE }
}
