//! File systems whose changes the kernel does not see, since they are made elsewhere.

use std::path::Path;

/// Names by the numbers that `statfs` gives.
const REMOTE: [(u32, &str); 12] = [
    (0x6969, "NFS"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB"),
    (0x517b, "SMB"),
    (0x6573_5546, "FUSE"),
    (0x0102_1997, "9P"),
    (0x00c3_6400, "Ceph"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x0116_1970, "GFS2"),
    (0x5346_414f, "AFS"),
    (0x786f_4256, "VirtualBox"),
];

/// The file system of a folder, if others may change it unseen.
pub(super) fn remote(folder: &Path) -> Option<&'static str> {
    let found = rustix::fs::statfs(folder).ok()?;
    name_of(u64::try_from(found.f_type).ok()?)
}

fn name_of(number: u64) -> Option<&'static str> {
    REMOTE.iter().find(|(known, _)| u64::from(*known) == number).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::{name_of, remote};

    #[test]
    fn a_network_file_system_is_known_by_its_number_and_a_local_one_is_none() {
        assert_eq!(name_of(0x6969), Some("NFS"));
        assert_eq!(remote(std::path::Path::new("/proc")), None);
    }
}
