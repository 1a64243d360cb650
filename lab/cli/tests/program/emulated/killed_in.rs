//! Sudden death of the program in virtual machines, as in the other `killed_in`.

use crate::killed_in::KILLED;

mod virtual_machines {
    crate::phases::moments! { super::KILLED, "vm", deploy = "deploy", hold = "hold" }
}

mod containers_in_virtual_machines {
    crate::phases::moments! { super::KILLED, "container-in-vm", deploy = "deploy", hold = "hold" }
}
