//! `list_files`: what a folder holds.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{Page, Workspace, blocking, invalid, number, shown, text};
use crate::task::TaskSet;
use crate::tools::port::{Tier, Tool, ToolContext, ToolError, ToolOutput};

/// How deep a model sees if it does not say.
const DEPTH_DEFAULT: usize = 2;
const DEPTH_MAX: usize = 20;

/// `list_files`: the files and folders below a folder, one a line, folders with a slash.
#[derive(Debug)]
pub struct ListFiles {
    workspace: Workspace,
    tasks: TaskSet,
}

impl ListFiles {
    /// The tool over a workspace.
    pub fn new(workspace: Workspace, tasks: TaskSet) -> Self {
        Self { workspace, tasks }
    }
}

#[async_trait]
impl Tool for ListFiles {
    fn name(&self) -> &'static str {
        "list_files"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["list_project_structure", "list_directory", "list_dir", "ls"]
    }

    fn description(&self) -> &'static str {
        "Lists the files and folders of the team's code below a folder, one path a line, folders with \
         a slash at the end. What version control ignores is left out. Begin here to find your way; \
         use glob to look for names anywhere, for example \"**/*_test.go\"."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "directory": {
                    "type": "string",
                    "default": ".",
                    "description": "The folder, from the root of the code."
                },
                "glob": {
                    "type": "string",
                    "description": "Only paths that fit, as in ignore files; looks at any depth."
                },
                "depth": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": DEPTH_MAX,
                    "description": "How many levels; 2 if there is no glob."
                }
            },
            "required": [],
            "additionalProperties": false
        })
    }

    fn argument_aliases(&self) -> &'static [(&'static str, &'static str)] {
        &[("path", "directory"), ("dir", "directory"), ("folder", "directory"), ("pattern", "glob")]
    }

    fn tier(&self) -> Tier {
        Tier::Read
    }

    fn path_arguments(&self) -> &'static [&'static str] {
        &["directory"]
    }

    async fn execute(
        &self,
        arguments: &Value,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let directory = text(arguments, "directory").unwrap_or(".").to_owned();
        let glob = text(arguments, "glob").map(str::to_owned);
        let depth = number(arguments, "depth").map(|depth| depth.clamp(1, DEPTH_MAX));
        let depth = if glob.is_some() { depth } else { Some(depth.unwrap_or(DEPTH_DEFAULT)) };
        let workspace = self.workspace.clone();
        let chars_max = context.output_chars_max;
        blocking(&self.tasks, context, "list_files", move |halted| {
            let place = workspace.find(&directory)?;
            if !place.is_folder() {
                return Err(invalid(format!("`{}` is no folder", shown(&place.relative))));
            }
            let mut page = Page::new(chars_max);
            let mut found = 0_usize;
            workspace.walk(&place, (glob.as_deref(), depth), halted, |place, is_folder| {
                // A glob is about files.
                if !(is_folder && glob.is_some()) {
                    found += 1;
                    let slash = if is_folder { "/" } else { "" };
                    page.push(&format!("{}{slash}", shown(&place.relative)));
                }
                Ok(true)
            })?;
            if found == 0 {
                let text = format!("[`{}` holds nothing that fits]", shown(&place.relative));
                return Ok(ToolOutput { text, sources: Vec::new(), is_news: false });
            }
            let text = page.finish("name a folder, a glob or a smaller depth");
            Ok(ToolOutput { text, sources: Vec::new(), is_news: true })
        })
        .await
    }
}
