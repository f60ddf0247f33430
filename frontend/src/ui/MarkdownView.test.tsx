import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import MarkdownView from "./MarkdownView";

const render = (text: string) => renderToStaticMarkup(<MarkdownView>{text}</MarkdownView>);

describe("what a model wrote", () => {
  it("never becomes markup of its own", () => {
    const html = render("<script>alert(1)</script> <img src=x onerror=alert(1)> <b onclick='x()'>b</b>\n\n<iframe src='//x'></iframe>");
    expect(html).not.toMatch(/<(script|img|b|iframe)[\s>]/);
    expect(html).toContain("&lt;script&gt;");
  });

  it("loads no image and follows no script address", () => {
    const html = render("![chart](https://example.invalid/x.png) [a](javascript:alert(1)) [b](vbscript:x) [c](data:text/html,x)");
    expect(html).not.toMatch(/<img|src=|javascript:|vbscript:|data:text/i);
    expect(html).toContain("[image: chart]");
  });

  it("keeps tables, code and outer links", () => {
    const html = render("| a | b |\n|---|---|\n| 1 | 2 |\n\n`x` [site](https://example.com)");
    expect(html).toContain("<td>2</td>");
    expect(html).toMatch(/<code[^>]*>x<\/code>/);
    expect(html).toContain('rel="noopener noreferrer nofollow"');
  });

  it("shows a half-written line while it streams", () => {
    const html = renderToStaticMarkup(<MarkdownView streaming>{"Read **the lo"}</MarkdownView>);
    expect(html).toContain("the lo");
  });
});
