//! What the tester sends, and how an agent takes a line of it apart.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::command::Command;
use crate::reply::{ErrorCode, Failure, Response, Status};

/// A line from the tester to the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Chosen by the tester; comes back in the response.
    pub id: u64,
    /// The order.
    #[serde(flatten)]
    pub command: Command,
}

/// A line that is no request, with what to answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{failure}")]
pub struct BadLine {
    /// Of the request, 0 where none could be read.
    pub id: u64,
    /// [`ErrorCode::BadRequest`], [`ErrorCode::UnknownCommand`] or [`ErrorCode::BadArgument`].
    pub failure: Failure,
}

impl From<BadLine> for Response {
    fn from(bad: BadLine) -> Response {
        Response { id: bad.id, result: Status::Error(bad.failure) }
    }
}

impl Request {
    /// Reads one line. Takes any bytes: what is not a request comes back as the error to answer.
    pub fn parse(line: &[u8]) -> Result<Request, BadLine> {
        let bad = |id, code, message| BadLine { id, failure: Failure { code, message, errno: None } };
        let mut fields: Map<String, Value> = serde_json::from_slice(line)
            .map_err(|error| bad(0, ErrorCode::BadRequest, format!("not a JSON object: {error}")))?;
        let id = match fields.remove("id") {
            Some(Value::Number(id)) if id.is_u64() => id.as_u64().unwrap_or(0),
            Some(_) => return Err(bad(0, ErrorCode::BadRequest, "`id` is not an unsigned 64-bit number".to_owned())),
            None => return Err(bad(0, ErrorCode::BadRequest, "no `id`".to_owned())),
        };
        match fields.get("cmd") {
            Some(Value::String(name)) if Command::NAMES.contains(&name.as_str()) => {}
            Some(Value::String(name)) => {
                let name: String = name.chars().take(40).collect();
                return Err(bad(id, ErrorCode::UnknownCommand, format!("no command {name:?} in this version")));
            }
            Some(_) => return Err(bad(id, ErrorCode::BadRequest, "`cmd` is not a string".to_owned())),
            None => return Err(bad(id, ErrorCode::BadRequest, "no `cmd`".to_owned())),
        }
        match serde_json::from_value(Value::Object(fields)) {
            Ok(command) => Ok(Request { id, command }),
            Err(error) => Err(bad(id, ErrorCode::BadArgument, error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &[u8]) -> (u64, ErrorCode) {
        let bad = Request::parse(line).unwrap_err();
        (bad.id, bad.failure.code)
    }

    #[test]
    fn a_request_survives_its_own_text() {
        let request = Request { id: 7, command: Command::Poll { qp: 1, max: 16 } };
        let line = serde_json::to_vec(&request).unwrap();
        assert_eq!(line, br#"{"id":7,"cmd":"poll","qp":1,"max":16}"#);
        assert_eq!(Request::parse(&line), Ok(request));
    }

    #[test]
    fn the_list_of_commands_is_the_one_that_serde_knows() {
        let error = serde_json::from_str::<Command>(r#"{"cmd":"?"}"#).unwrap_err().to_string();
        let known: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
        assert_eq!(known, Command::NAMES);
    }

    #[test]
    fn every_bad_line_has_its_own_answer() {
        assert_eq!(code(b""), (0, ErrorCode::BadRequest));
        assert_eq!(code(b"\xff\xfe\x00"), (0, ErrorCode::BadRequest));
        assert_eq!(code(b"[1]"), (0, ErrorCode::BadRequest));
        assert_eq!(code(&[b'['; 100_000]), (0, ErrorCode::BadRequest));
        assert_eq!(code(br#"{"cmd":"reset"}"#), (0, ErrorCode::BadRequest));
        assert_eq!(code(br#"{"id":-1,"cmd":"reset"}"#), (0, ErrorCode::BadRequest));
        assert_eq!(code(br#"{"id":3}"#), (3, ErrorCode::BadRequest));
        assert_eq!(code(br#"{"id":3,"cmd":5}"#), (3, ErrorCode::BadRequest));
        assert_eq!(code(br#"{"id":3,"cmd":"dance"}"#), (3, ErrorCode::UnknownCommand));
        assert_eq!(code(br#"{"id":3,"cmd":"poll","qp":1}"#), (3, ErrorCode::BadArgument));
        assert_eq!(code(br#"{"id":3,"cmd":"poll","qp":-1,"max":1}"#), (3, ErrorCode::BadArgument));
        assert_eq!(code(br#"{"id":3,"cmd":"poll","qp":1,"max":1,"more":1}"#), (3, ErrorCode::BadArgument));
        assert_eq!(code(br#"{"id":3,"cmd":"reset","more":1}"#), (3, ErrorCode::BadArgument));
    }
}
