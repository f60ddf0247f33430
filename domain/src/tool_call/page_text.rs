//! The text of a page, from the document that a browser prints: what a reader sees, a line for each block.
//!
//! A browser has parsed the page and prints it well-formed, so that a scanner for tags is enough, where a library for HTML
//! brings a parser, a tree and style sheets of its own. It does not: apply styles (what they hide is shown), draw tables,
//! name the targets of links, or read attributes.

/// Elements whose content nobody reads.
const SILENT: [&str; 7] = ["script", "style", "noscript", "template", "svg", "head", "iframe"];
/// Elements that stand on lines of their own.
const BLOCKS: [&str; 31] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "section",
    "table",
    "tr",
    "ul",
];

/// What a reader sees of a document.
pub(super) fn page_text(document: &str) -> String {
    let mut text = Text::default();
    if let Some(title) = title_of(document) {
        text.words(&decoded(title));
        text.break_line();
    }
    let mut rest = document;
    while let Some(at) = rest.find('<') {
        text.take(&decoded(&rest[..at]));
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        let Some(tag) = Tag::read(rest) else {
            // A lone bracket is text.
            text.take("<");
            rest = &rest[1..];
            continue;
        };
        rest = &rest[tag.length..];
        if SILENT.contains(&tag.name.as_str()) && !tag.is_end {
            rest = behind_end_of(rest, &tag.name);
            continue;
        }
        text.element(&tag);
    }
    text.take(&decoded(rest));
    text.finish()
}

fn title_of(document: &str) -> Option<&str> {
    let start = find_ignoring_case(document, "<title")?;
    let inside = &document[start + document[start..].find('>')? + 1..];
    Some(&inside[..find_ignoring_case(inside, "</title")?])
}

/// What comes behind the end tag of an element.
fn behind_end_of<'a>(rest: &'a str, name: &str) -> &'a str {
    let Some(at) = find_ignoring_case(rest, &format!("</{name}")) else { return "" };
    rest[at..].find('>').map_or("", |end| &rest[at + end + 1..])
}

fn find_ignoring_case(text: &str, wanted: &str) -> Option<usize> {
    let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
    text.windows(wanted.len()).position(|window| window.eq_ignore_ascii_case(wanted))
}

/// A tag: its name in lower case, and how long it is.
struct Tag {
    name: String,
    is_end: bool,
    length: usize,
}

impl Tag {
    fn read(text: &str) -> Option<Self> {
        let inside = text.strip_prefix('<')?;
        let (is_end, inside) = inside.strip_prefix('/').map_or((false, inside), |inside| (true, inside));
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if !inside.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!') {
            return None;
        }
        let name = inside[..inside.find(|c| !is_name(c)).unwrap_or(inside.len())].to_ascii_lowercase();
        let mut quote = None;
        let end = text.char_indices().find(|(_, c)| match (quote, *c) {
            (None, '>') => true,
            (None, '"' | '\'') => {
                quote = Some(*c);
                false
            }
            (Some(open), c) if open == c => {
                quote = None;
                false
            }
            _ => false,
        });
        end.map(|(at, _)| Self { name, is_end, length: at + 1 })
    }
}

/// Text with white space as a browser shows it.
#[derive(Default)]
struct Text {
    lines: String,
    /// Words were separated, and another may follow.
    has_space: bool,
    preformatted: usize,
}

impl Text {
    fn element(&mut self, tag: &Tag) {
        match tag.name.as_str() {
            "br" => self.lines.push('\n'),
            "pre" if tag.is_end => {
                self.preformatted = self.preformatted.saturating_sub(1);
                self.break_line();
            }
            "pre" => {
                self.break_line();
                self.preformatted += 1;
            }
            "td" | "th" if tag.is_end => self.has_space = true,
            name if BLOCKS.contains(&name) => {
                self.break_line();
                if name == "li" && !tag.is_end {
                    self.lines.push_str("- ");
                }
            }
            _ => {}
        }
    }

    fn take(&mut self, piece: &str) {
        if self.preformatted > 0 {
            self.lines.push_str(piece);
        } else {
            self.words(piece);
        }
    }

    fn words(&mut self, piece: &str) {
        for (at, word) in piece.split([' ', '\n', '\r', '\t', '\u{c}']).enumerate() {
            self.has_space |= at > 0;
            if word.is_empty() {
                continue;
            }
            if self.has_space && !self.lines.is_empty() && !self.lines.ends_with(['\n', ' ']) {
                self.lines.push(' ');
            }
            self.has_space = false;
            self.lines.push_str(word);
        }
    }

    fn break_line(&mut self) {
        self.has_space = false;
        if !self.lines.is_empty() && !self.lines.ends_with('\n') {
            self.lines.push('\n');
        }
    }

    /// Without lines that have nothing, and without the space behind the others.
    fn finish(self) -> String {
        let lines = self.lines.lines().map(str::trim_end).filter(|line| !matches!(*line, "" | "-"));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Text with its references replaced. A browser prints few of them.
fn decoded(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        match end.and_then(|end| Some((end, character(&rest[1..end])?))) {
            Some((end, character)) => {
                decoded.push(character);
                rest = &rest[end + 1..];
            }
            None => {
                decoded.push('&');
                rest = &rest[1..];
            }
        }
    }
    decoded.push_str(rest);
    decoded
}

fn character(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        _ => {
            let number = name.strip_prefix('#')?;
            let hexadecimal = number.strip_prefix(['x', 'X']);
            let code = hexadecimal.map_or_else(|| number.parse(), |digits| u32::from_str_radix(digits, 16)).ok()?;
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::page_text;

    #[test]
    fn a_page_reads_as_it_is_seen() {
        let page = "<!DOCTYPE html><html><head><title>A &amp; B</title><style>p{}</style></head><body>\
            <!-- hidden <p> --><h1>Head\n  line</h1><p>One <b>two</b>\n three&nbsp;four</p><script>let a = '<p>';</script>\
            <ul><li>first</li><li>second<br>line</li></ul><table><tbody><tr><td>a</td><td>b</td></tr></tbody></table>\
            <pre>  kept\n    as it is</pre><p title='a > b'>last &lt;tag&gt; &#65;&#x42; &unknown; 1 < 2</p></body></html>";
        let expected = "A & B\nHead line\nOne two three four\n- first\n- second\nline\na b\n  kept\n    as it is\n\
            last <tag> AB &unknown; 1 < 2";
        assert_eq!(page_text(page), expected);
    }

    #[test]
    fn broken_pages_do_not_break_it() {
        for (page, text) in [
            ("", ""),
            ("<", "<"),
            ("<p", "<p"),
            ("<script>never closed <p>", ""),
            ("<!-- never closed", ""),
            ("a<p>b</p", "a\nb</p"),
            ("&", "&"),
            ("é&#xffffffff;ü", "é&#xffffffff;ü"),
        ] {
            assert_eq!(page_text(page), text, "{page}");
        }
    }
}
