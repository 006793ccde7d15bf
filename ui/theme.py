"""The look of Gradio's own components, in terms of the variables of ``assets/css/app.css``."""

from __future__ import annotations

from typing import Any

import gradio as gr

_FONTS = (
    "PingFang SC",
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Microsoft YaHei",
    "system-ui",
    "sans-serif",
)
_MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace")

# The variables change with the colour scheme, so light and dark take the same values.
_VALUES = {
    "body_background_fill": "var(--tl-bg)",
    "body_text_color": "var(--tl-ink)",
    "body_text_color_subdued": "var(--tl-ink-2)",
    "background_fill_primary": "var(--tl-card)",
    "background_fill_secondary": "var(--tl-bg)",
    "border_color_primary": "var(--tl-line)",
    "border_color_accent": "var(--tl-accent)",
    "border_color_accent_subdued": "var(--tl-accent)",
    "color_accent_soft": "var(--tl-accent-soft)",
    "block_background_fill": "var(--tl-card)",
    "block_border_color": "var(--tl-line)",
    "block_label_background_fill": "var(--tl-card)",
    "block_label_border_color": "var(--tl-line)",
    "block_label_text_color": "var(--tl-ink-2)",
    "block_title_text_color": "var(--tl-ink-2)",
    "block_info_text_color": "var(--tl-ink-3)",
    "panel_background_fill": "var(--tl-card)",
    "panel_border_color": "var(--tl-line)",
    "input_background_fill": "var(--tl-card)",
    "input_border_color": "var(--tl-line)",
    "input_border_color_focus": "var(--tl-accent)",
    "input_placeholder_color": "var(--tl-ink-3)",
    "checkbox_background_color": "var(--tl-card)",
    "checkbox_background_color_selected": "var(--tl-accent)",
    "checkbox_border_color": "var(--tl-ink-3)",
    "checkbox_border_color_selected": "var(--tl-accent)",
    "checkbox_border_color_focus": "var(--tl-accent)",
    "checkbox_label_background_fill": "transparent",
    "checkbox_label_background_fill_hover": "transparent",
    "checkbox_label_background_fill_selected": "transparent",
    "checkbox_label_border_color": "transparent",
    "checkbox_label_border_color_hover": "transparent",
    "checkbox_label_border_color_selected": "transparent",
    "checkbox_label_text_color": "var(--tl-ink)",
    "checkbox_label_text_color_selected": "var(--tl-ink)",
    "button_primary_background_fill": "var(--tl-accent)",
    "button_primary_background_fill_hover": "var(--tl-accent-strong)",
    "button_primary_border_color": "var(--tl-accent)",
    "button_primary_border_color_hover": "var(--tl-accent-strong)",
    "button_primary_text_color": "var(--tl-on-accent)",
    "button_primary_text_color_hover": "var(--tl-on-accent)",
    "button_secondary_background_fill": "var(--tl-card)",
    "button_secondary_background_fill_hover": "var(--tl-hover)",
    "button_secondary_border_color": "var(--tl-line)",
    "button_secondary_border_color_hover": "var(--tl-line)",
    "button_secondary_text_color": "var(--tl-ink)",
    "button_secondary_text_color_hover": "var(--tl-ink)",
    "link_text_color": "var(--tl-accent)",
    "link_text_color_hover": "var(--tl-accent)",
    "link_text_color_active": "var(--tl-accent)",
    "link_text_color_visited": "var(--tl-accent)",
    "loader_color": "var(--tl-accent)",
    "slider_color": "var(--tl-accent)",
    "stat_background_fill": "var(--tl-accent-soft)",
    "error_background_fill": "var(--tl-card)",
    "error_text_color": "var(--tl-bad)",
    "error_border_color": "var(--tl-bad)",
}
_SHAPES = {
    "block_radius": "10px",
    "block_border_width": "0px",
    "block_shadow": "none",
    "block_label_shadow": "none",
    "block_label_border_width": "0px",
    "block_label_text_size": "13px",
    "block_title_text_size": "13px",
    "block_title_text_weight": "400",
    "block_title_border_width": "0px",
    "block_title_background_fill": "transparent",
    "block_title_padding": "0",
    "block_info_text_size": "12px",
    "block_padding": "0px",
    "container_radius": "8px",
    "input_radius": "8px",
    "input_border_width": "1px",
    "input_shadow": "none",
    "input_shadow_focus": "0 0 0 3px var(--tl-accent-soft)",
    "input_padding": "6px 10px",
    "input_text_size": "14px",
    "checkbox_label_padding": "0",
    "checkbox_label_shadow": "none",
    "checkbox_label_text_size": "14px",
    "checkbox_shadow": "none",
    "button_large_radius": "8px",
    "button_small_radius": "8px",
    "button_medium_radius": "8px",
    "button_large_text_size": "15px",
    "button_small_text_size": "13px",
    "button_small_text_weight": "400",
    "button_primary_shadow": "none",
    "button_secondary_shadow": "none",
    "button_transition": "background-color .12s, border-color .12s",
    "layout_gap": "16px",
    "form_gap_width": "0px",
}


class TingluTheme(gr.themes.Base):
    """One teal accent on quiet greys, real system type, no file from another host."""

    def __init__(self) -> None:
        super().__init__(
            primary_hue=gr.themes.colors.teal,
            secondary_hue=gr.themes.colors.teal,
            neutral_hue=gr.themes.colors.gray,
            font=_FONTS,
            font_mono=_MONO,
        )
        values: dict[str, Any] = dict(_SHAPES)
        for name, value in _VALUES.items():
            values[name] = value
            values[f"{name}_dark"] = value
        super().set(**values)
