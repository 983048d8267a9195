//! The ELF kernel out of a bzImage. QEMU boots the ELF directly, which saves unpacking it in an emulated processor.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::{say, shown};

const ELF: &[u8] = b"\x7fELF";

/// Writes the ELF kernel of `image` to `vmlinux`, unless that was done.
pub(super) fn extract(image: &Path, vmlinux: &Path) -> Result<()> {
    // A changed image under an old name is noticed by its time and place.
    let modified = fs::metadata(image)?.modified()?.duration_since(std::time::UNIX_EPOCH)?.as_nanos();
    let origin = format!("{} {modified}", fs::canonicalize(image)?.display());
    let note = vmlinux.with_extension("origin");
    if vmlinux.exists() && fs::read_to_string(&note).ok().as_ref() == Some(&origin) {
        return Ok(());
    }
    let bytes = fs::read(image).with_context(|| format!("cannot read {}", image.display()))?;
    let fault = || format!("{} is not a kernel that can be taken apart", image.display());
    if bytes.starts_with(ELF) {
        fs::write(vmlinux, bytes)?;
    } else {
        say(&format!("unpacking {}", shown(image)));
        unpack(payload(&bytes).with_context(fault)?, vmlinux).with_context(fault)?;
    }
    fs::write(note, origin)?;
    Ok(())
}

/// The compressed kernel inside a bzImage, by the x86 boot protocol's header (2.08 and newer).
fn payload(image: &[u8]) -> Result<&[u8]> {
    const SETUP_SECTORS: usize = 0x1f1;
    const MAGIC: usize = 0x202;
    const VERSION: usize = 0x206;
    const PAYLOAD_OFFSET: usize = 0x248;
    const PAYLOAD_LENGTH: usize = 0x24c;
    let word = |at: usize| -> Result<usize> {
        let bytes = image.get(at..at + 4).context("it is too short")?;
        Ok(u32::from_le_bytes(bytes.try_into()?) as usize)
    };
    ensure!(image.get(MAGIC..MAGIC + 4) == Some(b"HdrS"), "it has no boot header");
    ensure!(word(VERSION)? & 0xffff >= 0x208, "its boot header is too old");
    let sectors = match image[SETUP_SECTORS] {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let start = (sectors + 1) * 512 + word(PAYLOAD_OFFSET)?;
    let end = start + word(PAYLOAD_LENGTH)?;
    image.get(start..end).with_context(|| format!("its payload ends at {end}, the file at {}", image.len()))
}

fn unpack(payload: &[u8], vmlinux: &Path) -> Result<()> {
    // All formats but gzip are followed by the unpacked size in 4 bytes, which is no part of the stream.
    let shorter = &payload[..payload.len().saturating_sub(4)];
    let (program, arguments, input): (_, &[&str], _) = match payload {
        [0x1f, 0x8b, ..] => ("gzip", &["-dc"], payload),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => ("xz", &["-dc", "--single-stream"], shorter),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => ("zstd", &["-dcq", "--memory=256MB"], shorter),
        [b'B', b'Z', b'h', ..] => ("bzip2", &["-dc"], shorter),
        [0x02, 0x21, 0x4c, 0x18, ..] => ("lz4", &["-dc"], shorter),
        [0x7f, b'E', b'L', b'F', ..] => return Ok(fs::write(vmlinux, payload)?),
        _ => bail!("its compression is unknown (first bytes {:02x?})", payload.get(..6)),
    };
    let partial = vmlinux.with_extension("partial");
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(File::create(&partial)?)
        .spawn()
        .with_context(|| format!("cannot run {program}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // What goes wrong here shows in the exit code.
        let _ = stdin.write_all(input);
    }
    ensure!(child.wait()?.success(), "{program} cannot unpack it");
    let mut start = [0; 4];
    std::io::Read::read_exact(&mut File::open(&partial)?, &mut start)?;
    ensure!(start == ELF, "{program} unpacked something that is no ELF kernel");
    Ok(fs::rename(partial, vmlinux)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bz_image(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 3 * 512];
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x206..0x208].copy_from_slice(&0x20f_u16.to_le_bytes());
        image[0x248..0x24c].copy_from_slice(&512_u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        image.extend_from_slice(payload);
        image
    }

    #[test]
    fn the_payload_is_where_the_header_says() {
        assert_eq!(payload(&bz_image(b"\x7fELF and more")).unwrap(), b"\x7fELF and more");
    }

    #[test]
    fn what_is_no_kernel_is_named_so() {
        for image in [Vec::new(), vec![0; 100], vec![0; 4096], bz_image(b"abc")[..1500].to_vec()] {
            assert!(payload(&image).is_err());
        }
        let folder = tempfile::tempdir().unwrap();
        let (image, vmlinux) = (folder.path().join("image"), folder.path().join("vmlinux"));
        fs::write(&image, bz_image(b"what is this")).unwrap();
        let error = format!("{:#}", extract(&image, &vmlinux).unwrap_err());
        assert!(error.contains("compression is unknown"), "{error}");
        assert!(!vmlinux.exists());
    }

    #[test]
    fn a_gzip_kernel_is_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let (image, vmlinux) = (folder.path().join("image"), folder.path().join("vmlinux"));
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"\x7fELF kernel").unwrap();
        fs::write(&image, bz_image(&gzip.finish().unwrap())).unwrap();
        extract(&image, &vmlinux).unwrap();
        assert_eq!(fs::read(vmlinux).unwrap(), b"\x7fELF kernel");
    }
}
