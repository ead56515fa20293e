//! The elements of schema 2.0 that the playground knows, and the properties that each may have.

/// What every element may have.
pub(super) const COMMON: &[&str] = &["tag", "element_id", "margin"];
pub(super) const TAGS: &[(&str, &[&str])] = &[
    ("markdown", &["content", "text_align", "text_size", "icon"]),
    ("hr", &[]),
    ("div", &["text", "icon", "width"]),
    (
        "img",
        &[
            "img_key",
            "alt",
            "title",
            "corner_radius",
            "scale_type",
            "size",
            "transparent",
            "preview",
        ],
    ),
    (
        "button",
        &[
            "type",
            "size",
            "width",
            "text",
            "icon",
            "hover_tips",
            "disabled",
            "disabled_tips",
            "confirm",
            "behaviors",
            "name",
            "form_action_type",
            "required",
        ],
    ),
    (
        "column_set",
        &[
            "flex_mode",
            "horizontal_spacing",
            "horizontal_align",
            "background_style",
            "columns",
            "action",
        ],
    ),
    (
        "column",
        &[
            "width",
            "weight",
            "background_style",
            "padding",
            "direction",
            "horizontal_spacing",
            "vertical_spacing",
            "horizontal_align",
            "vertical_align",
            "elements",
            "action",
        ],
    ),
    (
        "table",
        &[
            "page_size",
            "row_height",
            "row_max_height",
            "freeze_first_column",
            "header_style",
            "columns",
            "rows",
        ],
    ),
    (
        "collapsible_panel",
        &[
            "direction",
            "vertical_spacing",
            "horizontal_spacing",
            "vertical_align",
            "horizontal_align",
            "padding",
            "expanded",
            "background_color",
            "header",
            "border",
            "elements",
        ],
    ),
];

/// What the head of a collapsible panel may have.
pub(super) const PANEL_HEADER: &[&str] = &[
    "title",
    "background_color",
    "vertical_align",
    "padding",
    "position",
    "width",
    "icon",
    "icon_position",
    "icon_expanded_angle",
];
/// What a column of a table may have.
pub(super) const TABLE_COLUMN: &[&str] = &[
    "name",
    "display_name",
    "width",
    "vertical_align",
    "horizontal_align",
    "data_type",
    "format",
    "date_format",
];
/// What a table's cells may be.
pub(super) const DATA_TYPES: [&str; 7] =
    ["text", "lark_md", "markdown", "options", "number", "persons", "date"];
/// How a button may look.
pub(super) const BUTTON_TYPES: [&str; 9] = [
    "default",
    "primary",
    "danger",
    "text",
    "primary_text",
    "danger_text",
    "primary_filled",
    "danger_filled",
    "laser",
];
pub(super) const BUTTON_SIZES: [&str; 4] = ["tiny", "small", "medium", "large"];
