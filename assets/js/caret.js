// Places in an editable text, counted in UTF-16 units of its plain text.
(() => {
  "use strict";

  /** `[start, end]` of the selection inside a node, or `null`. */
  function selectionIn(node) {
    const selection = window.getSelection();
    if (!selection.rangeCount) return null;
    const range = selection.getRangeAt(0);
    if (!node.contains(range.startContainer) || !node.contains(range.endContainer)) return null;
    const before = document.createRange();
    before.selectNodeContents(node);
    before.setEnd(range.startContainer, range.startOffset);
    const start = before.toString().length;
    return [start, start + range.toString().length];
  }

  /** The text node and offset of a place; the end for places behind it. */
  function placeIn(node, offset) {
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    let last = null;
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
      if (offset <= text.length) return [text, offset];
      offset -= text.length;
      last = text;
    }
    return last ? [last, last.length] : [node, 0];
  }

  function rangeOf(node, start, end) {
    const range = document.createRange();
    range.setStart(...placeIn(node, start));
    range.setEnd(...placeIn(node, end));
    return range;
  }

  function select(node, start, end = start) {
    const range = rangeOf(node, start, end);
    const selection = window.getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  }

  /** Put the caret where a pointer is; false where that is not inside the node. */
  function selectAt(node, x, y) {
    let found = null;
    if (document.caretPositionFromPoint) {
      const place = document.caretPositionFromPoint(x, y);
      if (place) found = [place.offsetNode, place.offset];
    } else if (document.caretRangeFromPoint) {
      const range = document.caretRangeFromPoint(x, y);
      if (range) found = [range.startContainer, range.startOffset];
    }
    if (!found || !node.contains(found[0])) return false;
    window.getSelection().collapse(...found);
    return true;
  }

  /** UTF-16 units as characters, which the server counts, and back. */
  const toCharacters = (text, units) => Array.from(text.slice(0, units)).length;
  const toUnits = (text, characters) => Array.from(text).slice(0, characters).join("").length;

  window.tinglu.caret = { selectionIn, rangeOf, select, selectAt, toCharacters, toUnits };
})();
