//! Where a person writes: text, mentions, a quote, images and files.

use maud::{Markup, html};

use super::view::View;
use crate::playground::limits::{FILE_BYTES, IMAGE_BYTES};
use crate::playground::state::State;
use crate::playground::world::ChatKind;

/// What is written goes into the open chat, or into the thread of `root`.
pub(super) fn composer(state: &State, view: &View, root: Option<&str>) -> Markup {
    let words = view.words();
    let Some(chat) = state.world.chat(&view.chat) else {
        return html! {};
    };
    let is_group = chat.kind == ChatKind::Group;
    let others = chat.members.iter().filter_map(|member| state.world.user(member));
    let others: Vec<_> = others.filter(|user| user.alias != view.me).collect();
    let thread: &[(&str, &str)] = if root.is_some() { &[("in_thread", "1")] } else { &[] };
    let upload = |kind| view.address("/web/upload", &[&[("kind", kind)], thread].concat());
    html! {
        form class="composer" data-composer[root.is_none()] data-thread-composer[root.is_some()]
            data-parent=(root.unwrap_or_default()) hx-post=(view.address("/web/say", thread))
            hx-target="#toasts" hx-swap="beforeend" hx-disabled-elt="find button.primary" {
            input type="hidden" name="parent" value=(root.unwrap_or_default());
            div class="quoting" hidden {
                span {}
                button type="button" data-unquote aria-label=(words.close) { "✕" }
            }
            textarea name="text" data-enter data-test="text-input" rows="2" placeholder=(words.write)
                aria-label=(words.write) {}
            div class="row" {
                @if is_group {
                    label { input type="checkbox" name="to_bot" value="1" data-test="to-bot" checked; " " (words.to_bot) }
                    details class="menu" {
                        summary data-test="mention" { (words.mention) }
                        div class="pop" {
                            label { input type="checkbox" name="mention" value="all"; " " (words.everyone) }
                            @for user in others {
                                label { input type="checkbox" name="mention" value=(user.alias); " " (user.name) }
                            }
                        }
                    }
                }
                label { (words.image)
                    input class="visually" type="file" accept="image/png,image/jpeg,image/gif,image/webp"
                        data-test="image" data-upload=(upload("image")) data-most=(IMAGE_BYTES.most);
                }
                label { (words.file)
                    input class="visually" type="file" data-test="file" data-upload=(upload("file")) data-most=(FILE_BYTES.most);
                }
                button class="primary" type="submit" data-test="send" { (words.send) }
            }
        }
    }
}
