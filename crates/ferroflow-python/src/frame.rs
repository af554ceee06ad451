//! Frames: four bytes of length, most significant first, then a msgpack array of three.
//!
//! A child asks with `[id, body, trace context]`, and is answered `[id, body, error]`; what is missing is nil.

use std::os::fd::{AsFd as _, BorrowedFd};

use rmpv::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, Interest};
use tokio::net::UnixStream;

use crate::control::send_now;
use crate::{Error, Result};

/// No DAG file is near this size; a child that claims more is broken, or means harm.
pub const MAX_FRAME: u32 = 256 << 20;

/// How many values a frame may hold: each takes some forty times the one byte that it may have.
const MAX_VALUES: u64 = 4 << 20;

/// How deep a body may be nested.
const MAX_DEPTH: usize = 256;

/// What a child sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The child's number of the request.
    pub id: u64,
    /// The request; its `type` says which.
    pub body: Value,
    /// The context of a trace (from a child), or an error (to a child).
    pub third: Value,
}

/// The bytes of a frame.
pub fn encode(frame: Frame) -> Result<Vec<u8>> {
    let array = Value::Array(vec![frame.id.into(), frame.body, frame.third]);
    let mut bytes = vec![0; 4];
    rmpv::encode::write_value(&mut bytes, &array).map_err(|error| Error::Frame(error.to_string()))?;
    let length = u32::try_from(bytes.len() - 4).ok().filter(|length| *length <= MAX_FRAME);
    let length = length.ok_or_else(|| Error::Frame(format!("{} bytes are too many", bytes.len())))?;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    Ok(bytes)
}

/// Writes a frame.
pub async fn write(writer: &mut (impl AsyncWrite + Unpin), frame: Frame) -> Result<()> {
    writer.write_all(&encode(frame)?).await?;
    Ok(writer.flush().await?)
}

/// Writes a frame whose first bytes come with a descriptor.
pub async fn write_with_descriptor(
    socket: &mut UnixStream,
    frame: Frame,
    descriptor: BorrowedFd<'_>,
) -> Result<()> {
    let bytes = encode(frame)?;
    let sent =
        socket.async_io(Interest::WRITABLE, || send_now(socket.as_fd(), &bytes, &[descriptor])).await?;
    Ok(socket.write_all(&bytes[sent..]).await?)
}

/// Reads a frame; `None` at the end, if it comes between frames.
pub async fn read(reader: &mut (impl AsyncRead + Unpin)) -> Result<Option<Frame>> {
    let mut length = [0; 4];
    if reader.read(&mut length[..1]).await? == 0 {
        return Ok(None);
    }
    reader.read_exact(&mut length[1..]).await?;
    let length = u32::from_be_bytes(length);
    if length > MAX_FRAME {
        return Err(Error::Frame(format!("it claims a length of {length} bytes")));
    }
    // Grows with what arrives: a claim alone takes no memory.
    let mut bytes = Vec::new();
    reader.take(length.into()).read_to_end(&mut bytes).await?;
    if bytes.len() < length as usize {
        return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
    }
    decode(&bytes).map(Some)
}

/// The frame in the bytes after the length.
pub fn decode(mut bytes: &[u8]) -> Result<Frame> {
    if count_values(bytes) > MAX_VALUES {
        return Err(Error::Frame(format!("it holds more than {MAX_VALUES} values")));
    }
    let value = rmpv::decode::read_value_with_max_depth(&mut bytes, MAX_DEPTH)
        .map_err(|error| Error::Frame(error.to_string()))?;
    if !bytes.is_empty() {
        return Err(Error::Frame(format!("{} bytes follow its end", bytes.len())));
    }
    let Value::Array(items) = value else {
        return Err(Error::Frame("it is not an array".to_owned()));
    };
    let mut items = items.into_iter();
    let (id, body, third) = (items.next(), items.next(), items.next());
    let id = id.as_ref().and_then(Value::as_u64);
    let id = id.ok_or_else(|| Error::Frame("it does not begin with a number".to_owned()))?;
    Ok(Frame { id, body: body.unwrap_or(Value::Nil), third: third.unwrap_or(Value::Nil) })
}

/// How many values there are, at least until the first byte that makes no sense. Takes no memory.
fn count_values(bytes: &[u8]) -> u64 {
    let (mut values, mut at) = (0, 0);
    while let Some(marker) = bytes.get(at) {
        values += 1;
        let number = |width: usize| {
            let digits = bytes.get(at + 1..at + 1 + width).unwrap_or_default();
            digits.iter().fold(0_usize, |number, digit| number << 8 | usize::from(*digit))
        };
        let length = match marker {
            0xa0..=0xbf => usize::from(marker & 31),
            0xc4 | 0xd9 => 1 + number(1),
            0xc5 | 0xda => 2 + number(2),
            0xc6 | 0xdb => 4 + number(4),
            0xc7 => 2 + number(1),
            0xc8 => 3 + number(2),
            0xc9 => 5 + number(4),
            0xcc | 0xd0 => 1,
            0xcd | 0xd1 | 0xdc | 0xde | 0xd4 => 2,
            0xd5 => 3,
            0xca | 0xce | 0xd2 | 0xdd | 0xdf => 4,
            0xd6 => 5,
            0xcb | 0xcf | 0xd3 => 8,
            0xd7 => 9,
            0xd8 => 17,
            _ => 0,
        };
        at += 1 + length;
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(id: u64, body: Value) -> Frame {
        Frame { id, body, third: Value::Nil }
    }

    #[test]
    fn an_empty_acknowledgement_has_the_bytes_that_airflow_sends() {
        assert_eq!(encode(frame(7, Value::Nil)).unwrap(), [0, 0, 0, 4, 0x93, 7, 0xc0, 0xc0]);
    }

    #[test]
    fn a_body_is_a_map_with_its_type() {
        let body = Value::Map(vec![("type".into(), "OKResponse".into()), ("ok".into(), true.into())]);
        let bytes = encode(frame(300, body)).unwrap();
        assert_eq!(bytes, b"\0\0\0\x1a\x93\xcd\x01\x2c\x82\xa4type\xaaOKResponse\xa2ok\xc3\xc0");
    }

    #[test]
    fn values_are_counted_whatever_their_form() {
        let long = |length: usize| Value::from("x".repeat(length));
        let values = vec![
            Value::Nil,
            1.into(),
            200.into(),
            70_000.into(),
            (1_u64 << 40).into(),
            (-1).into(),
            (-200).into(),
            (-70_000).into(),
            (-(1_i64 << 40)).into(),
            1.5_f32.into(),
            1.5_f64.into(),
            true.into(),
            long(3),
            long(40),
            long(300),
            long(70_000),
            Value::Binary(vec![1; 40]),
            Value::Binary(vec![1; 300]),
            Value::Binary(vec![1; 70_000]),
            Value::Ext(-1, vec![1; 1]),
            Value::Ext(-1, vec![1; 2]),
            Value::Ext(-1, vec![1; 4]),
            Value::Ext(-1, vec![1; 8]),
            Value::Ext(-1, vec![1; 16]),
            Value::Ext(-1, vec![1; 12]),
            Value::Ext(-1, vec![1; 300]),
            Value::Ext(-1, vec![1; 70_000]),
        ];
        let entries = values.iter().map(|value| (1.into(), value.clone())).collect();
        let whole = Value::Array(vec![Value::Array(values.clone()), Value::Map(entries)]);
        let mut bytes = Vec::new();
        rmpv::encode::write_value(&mut bytes, &whole).unwrap();
        assert_eq!(count_values(&bytes), 3 + 3 * values.len() as u64);
    }

    #[test]
    fn two_items_are_read_like_three() {
        assert_eq!(decode(&[0x92, 5, 0xc3]).unwrap(), frame(5, true.into()));
    }

    #[tokio::test]
    async fn frames_are_read_however_they_are_split() {
        let bytes = [encode(frame(1, "a".into())).unwrap(), encode(frame(2, "b".into())).unwrap()].concat();
        let (mut ours, mut theirs) = tokio::io::duplex(3);
        let writing = tokio::spawn(async move { theirs.write_all(&bytes).await });
        let first = read(&mut ours).await.unwrap();
        let second = read(&mut ours).await.unwrap();
        assert_eq!((first, second), (Some(frame(1, "a".into())), Some(frame(2, "b".into()))));
        writing.await.unwrap().unwrap();
        assert_eq!(read(&mut ours).await.unwrap(), None);
    }

    #[tokio::test]
    async fn what_is_not_a_frame_is_refused_with_its_reason() {
        let cases: [(&[u8], &str); 4] = [
            (b"\xff\xff\xff\xff", "claims a length of 4294967295"),
            (b"\0\0\0\x01\xc3", "not an array"),
            (b"\0\0\0\x02\x91\xc0", "begin with a number"),
            (b"\0\0\0\x05\x93\x07\xc0\xc0\xc0", "1 bytes follow"),
        ];
        for (bytes, reason) in cases {
            let message = read(&mut &*bytes).await.unwrap_err().to_string();
            assert!(message.contains(reason), "{message}");
        }
        let cut = read(&mut &b"\0\0\0\x04\x93\x07"[..]).await.unwrap_err();
        assert!(matches!(cut, Error::Io(_)), "{cut}");
        let deep = [vec![0x93, 0], vec![0x91; 100_000], vec![0xc0]].concat();
        assert!(decode(&deep).is_err());
        let wide = [vec![0x93, 0, 0xdd, 0, 0x50, 0, 0], vec![0xc0; 0x50_0000], vec![0xc0]].concat();
        assert!(decode(&wide).unwrap_err().to_string().contains("more than 4194304 values"));
    }
}
