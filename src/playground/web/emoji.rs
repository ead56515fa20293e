//! Reactions as pictures.

/// What the page offers to react with.
pub(super) const OFFERED: [&str; 6] = ["THUMBSUP", "OK", "HEART", "DONE", "THINKING", "PARTY"];

/// The picture of an emoji type; those without one are shown by name.
pub(super) fn picture(name: &str) -> Option<&'static str> {
    Some(match name {
        "OK" => "👌",
        "THUMBSUP" => "👍",
        "THANKS" => "🙏",
        "MUSCLE" => "💪",
        "APPLAUSE" => "👏",
        "DONE" | "CheckMark" => "✅",
        "SMILE" | "BLUSH" => "😊",
        "LAUGH" | "LOL" => "😄",
        "LOVE" | "HEART" | "FINGERHEART" => "❤️",
        "THINKING" => "🤔",
        "SOB" | "CRY" => "😭",
        "ERROR" | "CrossMark" => "❌",
        "CAKE" => "🎂",
        "PARTY" => "🎉",
        "ROSE" => "🌹",
        "Fire" => "🔥",
        "ThumbsDown" => "👎",
        "Trophy" => "🏆",
        "OneSecond" => "⏳",
        "Get" | "LGTM" | "OnIt" => "🫡",
        "Pin" => "📌",
        "Alarm" => "⏰",
        "Typing" => "⌨️ …",
        _ => return None,
    })
}
