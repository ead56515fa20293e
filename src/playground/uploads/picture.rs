//! Whether bytes are a picture that the platform takes: its kind, and its sides as far as its
//! head tells them.

use crate::playground::limits::{AVATAR_SIDE, GIF_SIDE, IMAGE_SIDE};
use crate::playground::refusal::Refusal;

/// What the head of a picture tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    is_gif: bool,
    /// Width and height in pixels, where they are easily read.
    sides: Option<(u64, u64)>,
}

pub(super) fn check(bytes: &[u8], is_avatar: bool) -> Result<(), Refusal> {
    let unknown = || Refusal::new(234_011, "Can't recognize the image format.");
    let head = head(bytes).ok_or_else(unknown)?;
    let limit = match head.is_gif {
        _ if is_avatar => AVATAR_SIDE,
        true => GIF_SIDE,
        false => IMAGE_SIDE,
    };
    match head.sides {
        Some((width, height)) if width.max(height) > limit.most => {
            Err(Refusal::new(limit.code, "The resolution of the image exceeds the limit."))
        }
        _ => Ok(()),
    }
}

fn head(bytes: &[u8]) -> Option<Head> {
    let number = |from: usize, length: usize| {
        let digits = bytes.get(from..from.checked_add(length)?)?.iter();
        Some(digits.fold(0_u64, |sum, digit| sum << 8 | u64::from(*digit)))
    };
    let swapped = |from: usize| number(from, 2).map(|pair| (pair & 0xff) << 8 | pair >> 8);
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some(Head { is_gif: false, sides: number(16, 4).zip(number(20, 4)) });
    }
    if bytes.starts_with(b"GIF8") {
        return Some(Head { is_gif: true, sides: swapped(6).zip(swapped(8)) });
    }
    if bytes.starts_with(b"\xff\xd8\xff") {
        return Some(Head { is_gif: false, sides: jpeg_sides(bytes) });
    }
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    let is_other = is_webp || bytes.starts_with(b"BM") || bytes.starts_with(b"II*\0");
    is_other.then_some(Head { is_gif: false, sides: None })
}

/// From the first frame of a JPEG: its segments are walked until it comes.
fn jpeg_sides(bytes: &[u8]) -> Option<(u64, u64)> {
    let mut rest = bytes.get(2..)?;
    loop {
        let [0xff, marker, high, low, ..] = rest else {
            return None;
        };
        let is_frame = matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc);
        if is_frame {
            let [_, _, _, _, _, tall, tall_low, wide, wide_low, ..] = rest else {
                return None;
            };
            let side = |high: &u8, low: &u8| u64::from(u16::from_be_bytes([*high, *low]));
            return Some((side(wide, wide_low), side(tall, tall_low)));
        }
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        rest = rest.get(2 + length..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes
    }

    fn gif(width: u16, height: u16) -> Vec<u8> {
        let mut bytes = b"GIF89a".to_vec();
        bytes.extend(width.to_le_bytes());
        bytes.extend(height.to_le_bytes());
        bytes
    }

    fn jpeg(width: u16, height: u16) -> Vec<u8> {
        let mut bytes = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x0b\x08".to_vec();
        bytes.extend(height.to_be_bytes());
        bytes.extend(width.to_be_bytes());
        bytes
    }

    #[test]
    fn a_picture_with_sides_at_the_limit_passes_and_one_pixel_more_does_not() {
        let table = [
            (png(12_000, 12_000), false, 0),
            (png(12_001, 1), false, 234_039),
            (png(1, 12_001), false, 234_039),
            (png(4_096, 4_096), true, 0),
            (png(4_097, 1), true, 234_039),
            (gif(2_000, 2_000), false, 0),
            (gif(1, 2_001), false, 234_039),
            (jpeg(12_000, 12_000), false, 0),
            (jpeg(12_001, 1), false, 234_039),
            (jpeg(1, 12_001), false, 234_039),
            (b"\xff\xd8\xff\xe0\xff\xff".to_vec(), false, 0),
            (b"BM".to_vec(), false, 0),
            (b"words".to_vec(), false, 234_011),
        ];
        for (bytes, is_avatar, code) in table {
            let answer = check(&bytes, is_avatar).map_or_else(|refusal| refusal.code, |()| 0);
            assert_eq!(answer, code, "{bytes:?}");
        }
    }
}
