//! What the daemon says in the place of a message that the platform refused for its content.

/// A sentence in the place of words that cannot be delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undelivered {
    /// Of the whole answer.
    Answer {
        /// For finding the turn.
        reference: String,
    },
    /// Of one message of a longer answer.
    Part {
        /// Which, from one on.
        number: usize,
        /// Of how many.
        of: usize,
        /// For finding the turn.
        reference: String,
    },
}

impl Undelivered {
    pub(super) fn zh(&self) -> String {
        match self {
            Self::Answer { reference } => {
                format!(
                    "（平台拒绝发送这次的回答。可以换个问法再试；反馈时请附上编号 {reference}。）"
                )
            }
            Self::Part { number, of, reference } => format!(
                "（回答的第 {number}/{of} 部分被平台拒绝，未能送达；反馈时请附上编号 {reference}。）"
            ),
        }
    }

    pub(super) fn en(&self) -> String {
        match self {
            Self::Answer { reference } => format!(
                "(The platform refused to deliver this answer. Asking in other words may help; \
                 the reference is {reference}.)"
            ),
            Self::Part { number, of, reference } => format!(
                "(Part {number} of {of} could not be delivered: the platform refused it. The \
                 reference is {reference}.)"
            ),
        }
    }
}
