//! The tools that look into the knowledge base: `search_knowledge` and `get_recipe`.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::port::{Tier, Tool, ToolContext, ToolError, ToolErrorCode, ToolOutput};
use crate::base::limit::{ellipsis, prefix_chars};
use crate::envelope::{Hit, Knowledge, KnowledgeError, Recipe};

/// How many hits a search gives if the model does not say.
const HITS_DEFAULT: usize = 5;
/// How many hits a model may ask for.
const HITS_MAX: usize = 10;
/// The longest text of an unknown id that is repeated to the model, in characters.
const ID_CHARS_MAX: usize = 80;
/// Stands behind a recipe that was cut.
const CUT: &str = "\n[the rest of the recipe is left out]";

/// `search_knowledge`: the best recipes for some words.
///
/// The result is JSON text, `{"hits":[{"id","title","excerpt","source"}, ...]}`, best first. It is
/// complete JSON even where the output limit is tight: hits are left out, never cut.
pub struct SearchKnowledge {
    knowledge: Arc<dyn Knowledge>,
}

impl SearchKnowledge {
    /// The tool over a knowledge base.
    pub fn new(knowledge: Arc<dyn Knowledge>) -> Self {
        Self { knowledge }
    }
}

impl fmt::Debug for SearchKnowledge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SearchKnowledge")
    }
}

#[async_trait]
impl Tool for SearchKnowledge {
    fn name(&self) -> &'static str {
        "search_knowledge"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["knowledge_search", "search_recipes", "search_kb"]
    }

    fn description(&self) -> &'static str {
        "Searches the team's knowledge base of recipes (how-tos, rules, facts) by words, in Chinese \
         or English. Use it before answering any question about the team's systems, tools or \
         rules. Returns JSON with the best hits; cite them by id and source. An empty list means \
         that nothing is known: say so, do not guess. Use get_recipe for a whole text."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "minLength": 1,
                    "description": "The words to look for: key words work better than sentences."
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": HITS_MAX,
                    "default": HITS_DEFAULT,
                    "description": "How many hits at most."
                }
            },
            "required": ["query"],
            "additionalProperties": false
        })
    }

    fn argument_aliases(&self) -> &'static [(&'static str, &'static str)] {
        &[("keyword", "query"), ("keywords", "query"), ("q", "query"), ("pattern", "query")]
    }

    fn tier(&self) -> Tier {
        Tier::Read
    }

    async fn execute(
        &self,
        arguments: &Value,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let query = text_argument(arguments, "query")?;
        let limit = arguments
            .get("limit")
            .and_then(Value::as_u64)
            .and_then(|limit| usize::try_from(limit).ok())
            .unwrap_or(HITS_DEFAULT)
            .clamp(1, HITS_MAX);
        let found = cancellable(context, self.knowledge.search(query, limit)).await?;
        let (text, told) = hits_text(&found, context.output_chars_max);
        let hits = || found.iter().take(told);
        let sources = hits().flat_map(|hit| [hit.id.clone(), hit.source.clone()]);
        Ok(ToolOutput { text, sources: sources.collect(), is_news: told > 0 })
    }
}

/// The result text and how many of the hits it holds.
fn hits_text(hits: &[Hit], chars_max: usize) -> (String, usize) {
    let mut told: Vec<Value> = hits
        .iter()
        .map(|hit| {
            json!({
                "id": hit.id,
                "title": hit.title,
                "excerpt": hit.excerpt,
                "source": hit.source,
            })
        })
        .collect();
    loop {
        let count = told.len();
        let text = json!({ "hits": told }).to_string();
        // The worst hit goes first, since hits stand best first.
        if text.chars().count() <= chars_max || told.pop().is_none() {
            return (text, count);
        }
    }
}

/// `get_recipe`: one recipe in full.
pub struct GetRecipe {
    knowledge: Arc<dyn Knowledge>,
}

impl GetRecipe {
    /// The tool over a knowledge base.
    pub fn new(knowledge: Arc<dyn Knowledge>) -> Self {
        Self { knowledge }
    }
}

impl fmt::Debug for GetRecipe {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("GetRecipe")
    }
}

#[async_trait]
impl Tool for GetRecipe {
    fn name(&self) -> &'static str {
        "get_recipe"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["read_recipe", "show_recipe"]
    }

    fn description(&self) -> &'static str {
        "Reads one recipe of the knowledge base in full, by its id as search_knowledge gave it. \
         Use it when an excerpt is not enough to answer."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "id": {
                    "type": "string",
                    "minLength": 1,
                    "description": "The recipe's id."
                }
            },
            "required": ["id"],
            "additionalProperties": false
        })
    }

    fn argument_aliases(&self) -> &'static [(&'static str, &'static str)] {
        &[("recipe_id", "id"), ("recipe", "id"), ("name", "id")]
    }

    fn tier(&self) -> Tier {
        Tier::Read
    }

    async fn execute(
        &self,
        arguments: &Value,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let id = text_argument(arguments, "id")?;
        let found = cancellable(context, self.knowledge.get(id)).await?;
        Ok(match found {
            Some(recipe) => ToolOutput {
                text: recipe_text(&recipe, context.output_chars_max),
                sources: vec![recipe.id, recipe.source],
                is_news: true,
            },
            None => ToolOutput {
                text: format!(
                    "There is no recipe with the id `{}`. Find ids with search_knowledge.",
                    ellipsis(id, ID_CHARS_MAX)
                ),
                sources: Vec::new(),
                is_news: false,
            },
        })
    }
}

fn recipe_text(recipe: &Recipe, chars_max: usize) -> String {
    let head = format!(
        "id: {}\ntitle: {}\nkind: {}\nstatus: {}\ntags: {}\nupdated: {}\nsource: {}\n\n",
        recipe.id,
        recipe.title,
        recipe.kind,
        recipe.status,
        recipe.tags.join(", "),
        recipe.updated_at,
        recipe.source,
    );
    let whole = format!("{head}{}", recipe.body);
    if whole.chars().count() <= chars_max {
        return whole;
    }
    let kept = chars_max.saturating_sub(CUT.chars().count());
    format!("{}{CUT}", prefix_chars(&whole, kept))
}

fn text_argument<'a>(arguments: &'a Value, name: &str) -> Result<&'a str, ToolError> {
    arguments.get(name).and_then(Value::as_str).ok_or_else(|| ToolError {
        code: ToolErrorCode::InvalidArguments,
        text: format!("argument `{name}`: expected string (required), got nothing"),
    })
}

/// The answer of the knowledge base, unless the run is stopped first.
async fn cancellable<T>(
    context: &ToolContext,
    work: impl Future<Output = Result<T, KnowledgeError>>,
) -> Result<T, ToolError> {
    let done = context.cancel.run_until_cancelled(work).await;
    match done {
        Some(Ok(found)) => Ok(found),
        Some(Err(_logged_by_the_knowledge_base)) => Err(ToolError {
            code: ToolErrorCode::Failed,
            text: "the knowledge base cannot be read at the moment".to_owned(),
        }),
        None => Err(ToolError {
            code: ToolErrorCode::Cancelled,
            text: "the run was stopped".to_owned(),
        }),
    }
}

#[cfg(test)]
#[path = "knowledge_tests.rs"]
mod tests;
