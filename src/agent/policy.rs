//! May this call run? A pure decision: facts in, verdict out.
//!
//! The sources are asked in a fixed order and the first that objects decides. Adding a source or
//! a rule can only take away.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::tools::Tier;

/// A call as the policy sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The tool's own name; of an unknown tool, what the model wrote.
    pub tool: String,
    /// SHA-256 over the canonical arguments, hexadecimal.
    pub fingerprint: String,
    /// The iteration of the run.
    pub iteration: u32,
    /// The place of the call in its round.
    pub index: u32,
}

/// Everything the decision depends on.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// The tools of this run.
    pub allowed: &'a [String],
    /// How far the effects of this tool reach.
    pub tier: Tier,
    /// The highest tier this run may use.
    pub tier_max: Tier,
    /// The folder that paths must stay in; `None`: no path is allowed at all.
    pub workspace: Option<&'a Path>,
    /// The values of the call's path arguments.
    pub paths: &'a [String],
}

/// The verdict on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyVerdict {
    /// It may run.
    Allow,
    /// It may not; the model is told why.
    Deny,
}

impl PolicyVerdict {
    /// The word in the ledger.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }
}

/// A verdict with its source and reason, as the ledger keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The call.
    pub action: Action,
    /// The verdict.
    pub verdict: PolicyVerdict,
    /// Which source decided.
    pub source: &'static str,
    /// Why; empty for an Allow.
    pub reason: String,
}

/// The source that knows the tools of the run.
pub(super) const ALLOW_LIST: &str = "allow_list";

type Objection = Option<String>;
type Source = fn(&Action, &Facts<'_>) -> Objection;

/// Decides about one call.
pub fn decide(action: Action, facts: &Facts<'_>) -> Decision {
    let sources: [(&'static str, Source); 3] = [
        (ALLOW_LIST, not_on_the_list),
        ("path_rule", leaves_the_workspace),
        ("tier", reaches_too_far),
    ];
    for (source, objects) in sources {
        if let Some(reason) = objects(&action, facts) {
            return Decision { action, verdict: PolicyVerdict::Deny, source, reason };
        }
    }
    Decision { action, verdict: PolicyVerdict::Allow, source: "default", reason: String::new() }
}

fn not_on_the_list(action: &Action, facts: &Facts<'_>) -> Objection {
    (!facts.allowed.contains(&action.tool))
        .then(|| format!("`{}` is not a tool of this run", action.tool))
}

fn reaches_too_far(action: &Action, facts: &Facts<'_>) -> Objection {
    (facts.tier > facts.tier_max)
        .then(|| format!("`{}` reaches further than this bot's policy allows", action.tool))
}

fn leaves_the_workspace(_action: &Action, facts: &Facts<'_>) -> Objection {
    facts.paths.iter().find_map(|path| match facts.workspace {
        None => Some("this bot has no workspace, so no path can be used".to_owned()),
        Some(root) => escapes(root, path).then(|| format!("`{path}` is outside of the workspace")),
    })
}

/// Whether `path`, taken from `root`, leads out of it by its words alone. What links lead to is
/// checked again where the file is opened.
fn escapes(root: &Path, path: &str) -> bool {
    if path.contains('\0') {
        return true;
    }
    let mut resolved = PathBuf::new();
    for component in root.join(path).components() {
        match component {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                resolved.push(component);
            }
        }
    }
    !resolved.starts_with(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(tool: &str) -> Action {
        Action { tool: tool.to_owned(), fingerprint: String::new(), iteration: 1, index: 0 }
    }

    fn verdict(
        tool: &str,
        workspace: Option<&str>,
        paths: &[&str],
    ) -> (PolicyVerdict, &'static str) {
        let allowed = ["read_file".to_owned()];
        let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
        let facts = Facts {
            allowed: &allowed,
            tier: Tier::Read,
            tier_max: Tier::Read,
            workspace: workspace.map(Path::new),
            paths: &paths,
        };
        let decision = decide(action(tool), &facts);
        (decision.verdict, decision.source)
    }

    #[test]
    fn a_tool_that_is_not_on_the_list_is_denied() {
        assert_eq!(verdict("rm", None, &[]), (PolicyVerdict::Deny, "allow_list"));
        assert_eq!(verdict("read_file", None, &[]), (PolicyVerdict::Allow, "default"));
    }

    #[test]
    fn a_path_that_leaves_the_workspace_is_denied() {
        let denied = (PolicyVerdict::Deny, "path_rule");
        for path in ["../secret", "a/../../secret", "/etc/passwd", "/srv/repository2/a", "a\0b"] {
            assert_eq!(verdict("read_file", Some("/srv/repository"), &[path]), denied, "{path}");
        }
        for path in ["src/main.rs", "./a/../b", "/srv/repository/a", ""] {
            let allowed = (PolicyVerdict::Allow, "default");
            assert_eq!(verdict("read_file", Some("/srv/repository"), &[path]), allowed, "{path}");
        }
        assert_eq!(verdict("read_file", None, &["a"]), denied);
    }

    #[test]
    fn a_tier_above_the_policy_is_denied() {
        let allowed = ["send".to_owned()];
        let facts = Facts {
            allowed: &allowed,
            tier: Tier::External,
            tier_max: Tier::Write,
            workspace: None,
            paths: &[],
        };
        assert_eq!(decide(action("send"), &facts).source, "tier");
    }
}
