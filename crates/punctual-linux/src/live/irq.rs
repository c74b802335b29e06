//! Interrupts that cannot be moved. Since 6.12, the kernel makes the affinity file of such an interrupt unwritable,
//! which every user can see. Earlier kernels refuse only when the file is written.

use super::files::fact;
use punctual_facts::fact::Fact;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const MOST_LINES: usize = 16_384;
const WRITABLE: u32 = 0o222;

pub(super) fn fixed(folder: &Path) -> Fact<Vec<u8>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) => return fact(Err(e)),
    };
    let names = entries.take(MOST_LINES).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_fixed = |number: &u32| {
        let file = std::fs::metadata(folder.join(number.to_string()).join("smp_affinity_list"));
        file.is_ok_and(|file| file.permissions().mode() & WRITABLE == 0)
    };
    let mut numbers: Vec<u32> = names.filter_map(|name| name.parse().ok()).filter(is_fixed).collect();
    numbers.sort_unstable();
    let told: Vec<String> = numbers.iter().map(u32::to_string).collect();
    Fact::Known(told.join(" ").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_without_permission_to_write_are_told() {
        let root = tempfile::tempdir().unwrap();
        for (number, mode) in [("9", 0o444), ("24", 0o644), ("10", 0o444)] {
            let folder = root.path().join(number);
            std::fs::create_dir_all(&folder).unwrap();
            let file = folder.join("smp_affinity_list");
            std::fs::write(&file, "0-3\n").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        std::fs::write(root.path().join("default_smp_affinity"), "f\n").unwrap();
        assert_eq!(fixed(root.path()), Fact::Known(b"9 10".to_vec()));
        assert_eq!(fixed(Path::new("/no/such/folder")), Fact::Absent);
    }
}
