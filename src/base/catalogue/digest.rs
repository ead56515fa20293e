//! What digests of the knowledge base say around the recipes.

/// A line of a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DigestSay {
    /// Above a digest.
    Title {
        /// Its time, in local time.
        when: String,
    },
    /// Above recipes that are new.
    New,
    /// Above recipes that were changed.
    Changed,
    /// Above recipes that were changed lately, where nobody knows what was told before.
    Recent {
        /// In how many days.
        days: u64,
    },
    /// Above recipes that wait for review.
    Waiting,
    /// Behind the recipes of a section that are shown.
    More {
        /// How many are not.
        count: usize,
    },
    /// How many there are.
    Total {
        /// The number.
        recipes: usize,
    },
    /// There is no news.
    Nothing,
    /// The question on a button.
    Ask {
        /// The title of a recipe.
        title: String,
    },
    /// The knowledge base could not be read.
    Unreadable,
}

impl DigestSay {
    pub(super) fn zh(&self) -> String {
        match self {
            Self::Title { when } => format!("知识摘要 {when}"),
            Self::New => "**新增**".to_owned(),
            Self::Changed => "**有更新**".to_owned(),
            Self::Recent { days } => format!("**最近 {days} 天的更新**"),
            Self::Waiting => "**待审核**".to_owned(),
            Self::More { count } => format!("……还有 {count} 条"),
            Self::Total { recipes } => format!("知识库共 {recipes} 条。"),
            Self::Nothing => "没有新的内容。".to_owned(),
            Self::Ask { title } => format!("「{title}」是怎么回事？"),
            Self::Unreadable => "暂时读不到知识库，请稍后再试。".to_owned(),
        }
    }

    pub(super) fn en(&self) -> String {
        match self {
            Self::Title { when } => format!("Knowledge digest {when}"),
            Self::New => "**New**".to_owned(),
            Self::Changed => "**Changed**".to_owned(),
            Self::Recent { days } => format!("**Changed in the last {days} days**"),
            Self::Waiting => "**Waiting for review**".to_owned(),
            Self::More { count } => format!("… and {count} more"),
            Self::Total { recipes: 1 } => "1 recipe in all.".to_owned(),
            Self::Total { recipes } => format!("{recipes} recipes in all."),
            Self::Nothing => "Nothing new.".to_owned(),
            Self::Ask { title } => format!("What do we know about “{title}”?"),
            Self::Unreadable => {
                "The knowledge base cannot be read now; please try again later.".to_owned()
            }
        }
    }
}
