//! A card as the page shows it: its header in its colour, texts, tables, panels, columns, buttons;
//! and whether it is still being written.

use maud::{Markup, html};
use serde_json::Value;

use super::rich::{self, Rich};
use super::view::View;
use crate::playground::card::{SeenCard, is_expanded, is_markdown, markdown_columns, table};
use crate::playground::seen::SeenMessage;
use crate::playground::world::World;

const COLOURS: [&str; 11] = [
    "wathet",
    "turquoise",
    "green",
    "yellow",
    "orange",
    "red",
    "carmine",
    "violet",
    "purple",
    "indigo",
    "grey",
];

fn string<'card>(value: &'card Value, pointer: &str) -> &'card str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn list<'card>(value: &'card Value, pointer: &str) -> &'card [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[][..], Vec::as_slice)
}

/// Draws the elements in order; counts buttons as [`SeenCard`] does.
struct Painter<'page> {
    world: &'page World,
    view: &'page View,
    message_id: &'page str,
    card: &'page SeenCard,
    buttons: usize,
    panels: usize,
}

pub(super) fn card(world: &World, view: &View, message: &SeenMessage, card: &SeenCard) -> Markup {
    let message_id = message.message_id.as_str();
    let mut painter = Painter { world, view, message_id, card, buttons: 0, panels: 0 };
    let body = painter.elements(list(&card.json, "/body/elements"));
    let colour = COLOURS.iter().find(|colour| **colour == card.template);
    let colour = match (colour, card.template.as_str()) {
        (Some(colour), _) => format!("cardhead c-{colour}"),
        (None, "" | "default") => "cardhead c-default".to_owned(),
        (None, _) => "cardhead".to_owned(),
    };
    html! {
        div class="bubble card" data-test="card" data-edits=(message.edits)
            data-streaming=(if card.streaming { "true" } else { "false" }) {
            @if !card.title.is_empty() {
                div class=(colour) {
                    (card.title)
                    @let subtitle = string(&card.json, "/header/subtitle/content");
                    @if !subtitle.is_empty() { div class="fine" { (subtitle) } }
                }
            }
            div class="cardbody" {
                (body)
                @if card.streaming {
                    div class="fine" data-test="streaming" { (view.words().streaming) }
                }
            }
        }
    }
}

impl Painter<'_> {
    fn elements(&mut self, elements: &[Value]) -> Markup {
        let drawn: Vec<Markup> = elements.iter().map(|element| self.element(element)).collect();
        html! { @for element in &drawn { (element) } }
    }

    fn element(&mut self, element: &Value) -> Markup {
        match string(element, "/tag") {
            "markdown" => {
                let is_fine = string(element, "/text_size") == "notation";
                let text = self.rich().markdown(string(element, "/content"));
                html! { div class=[is_fine.then_some("fine")] { (text) } }
            }
            "div" => {
                let is_fine = string(element, "/text/text_size") == "notation";
                let text = self.text(element.get("text").unwrap_or(&Value::Null));
                html! { div class=[is_fine.then_some("fine")] { (text) } }
            }
            "hr" => html! { hr; },
            "img" => {
                let key = string(element, "/img_key");
                let alt = string(element, "/alt/content");
                html! { img class="picture" src={ "/web/file/" (self.message_id) "/" (key) } alt=(alt); }
            }
            "button" => self.button(element),
            "column_set" => {
                let columns: Vec<Markup> = list(element, "/columns")
                    .iter()
                    .map(|column| self.elements(list(column, "/elements")))
                    .collect();
                html! { div class="columns" { @for column in &columns { div { (column) } } } }
            }
            "table" => self.grid(element),
            "collapsible_panel" => self.panel(element),
            _ => html! {},
        }
    }

    fn rich(&self) -> Rich<'_> {
        Rich::of_card(self.world)
    }

    /// A text object.
    fn text(&self, text: &Value) -> Markup {
        let content = string(text, "/content");
        if is_markdown(text) {
            self.rich().markdown(content)
        } else {
            rich::plain(self.world, content)
        }
    }

    /// A table. All its rows are shown; pages of it are a thing of small screens.
    fn grid(&self, element: &Value) -> Markup {
        let (heads, rows) = table(element);
        let columns = markdown_columns(element);
        html! {
            table data-test="table" {
                tr { @for head in &heads { th { (head) } } }
                @for row in &rows {
                    tr {
                        @for (text, is_markdown) in row.iter().zip(&columns) {
                            td { (self.rich().cell(text, *is_markdown)) }
                        }
                    }
                }
            }
        }
    }

    /// What the reader opened or closed stays so when the card is drawn anew: `data-panel` tells
    /// the page which one it is.
    fn panel(&mut self, element: &Value) -> Markup {
        let place = self.panels;
        self.panels += 1;
        let is_open = is_expanded(element);
        let title = element.pointer("/header/title").unwrap_or(&Value::Null);
        let title = self.rich().cell(string(title, "/content"), is_markdown(title));
        let inner = self.elements(list(element, "/elements"));
        html! {
            details class="panel" data-test="panel" open[is_open]
                data-panel={ (self.message_id) ":" (place) } {
                summary { (title) }
                div class="cardbody" { (inner) }
            }
        }
    }

    fn button(&mut self, element: &Value) -> Markup {
        let place = self.buttons;
        self.buttons += 1;
        let Some(button) = self.card.buttons.get(place) else {
            return html! {};
        };
        let kind = string(element, "/type");
        let is_web = |url: &&String| url.starts_with("https://") || url.starts_with("http://");
        if let (None, Some(url)) = (&button.value, button.url.as_ref().filter(is_web)) {
            return html! {
                div { a class="button" href=(url) target="_blank" rel="noopener noreferrer" { (button.text) } }
            };
        }
        let place = place.to_string();
        let more = [("message", self.message_id), ("button", place.as_str())];
        let class = match kind {
            "primary" | "primary_filled" => "primary",
            "danger" | "danger_filled" => "danger",
            _ => "",
        };
        html! {
            div {
                button type="button" class=(class) data-test="press" data-button=(place)
                    disabled[button.disabled || button.value.is_none()]
                    hx-post=(self.view.address("/web/press", &more))
                    hx-target="#toasts" hx-swap="beforeend" hx-disabled-elt="this" { (button.text) }
            }
        }
    }
}
