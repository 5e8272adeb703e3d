package webui

import (
	"fmt"
	"html"
	"net/url"
	"strings"
	"sync"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	gfm "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	renderedhtml "github.com/yuin/goldmark/renderer/html"
	reading "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"piloto/internal/ground/render"
	"piloto/internal/ground/visible"
)

// maxMarkdown is the longest text that is parsed as Markdown; a longer one is shown as plain text.
const maxMarkdown = 64 << 10

// markdown is the only Markdown parser. All of its parts count their work.
var markdown = sync.OnceValue(func() goldmark.Markdown {
	tables := extension.NewTableHTMLRenderer(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))
	return goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(
				util.Prioritized(countedBlock{parser.NewSetextHeadingParser()}, 100),
				util.Prioritized(countedBlock{parser.NewThematicBreakParser()}, 200),
				util.Prioritized(countedContainer{countedBlock{parser.NewListParser()}}, 300),
				util.Prioritized(countedBlock{parser.NewListItemParser()}, 400),
				util.Prioritized(countedBlock{parser.NewCodeBlockParser()}, 500),
				util.Prioritized(countedBlock{parser.NewATXHeadingParser()}, 600),
				util.Prioritized(countedBlock{parser.NewFencedCodeBlockParser()}, 700),
				util.Prioritized(countedContainer{countedBlock{parser.NewBlockquoteParser()}}, 800),
				util.Prioritized(countedBlock{parser.NewHTMLBlockParser()}, 900),
				util.Prioritized(countedBlock{parser.NewParagraphParser()}, 1000),
			),
			parser.WithInlineParsers(
				util.Prioritized(countedInline{extension.NewTaskCheckBoxParser()}, 0), // before links
				util.Prioritized(countedInline{parser.NewCodeSpanParser()}, 100),
				util.Prioritized(countedLinks{countedInline{parser.NewLinkParser()}}, 200),
				util.Prioritized(countedInline{parser.NewAutoLinkParser()}, 300),
				util.Prioritized(countedInline{parser.NewRawHTMLParser()}, 400),
				util.Prioritized(countedDelimiters{countedInline{parser.NewEmphasisParser()}}, 500),
				util.Prioritized(countedDelimiters{countedInline{extension.NewStrikethroughParser()}}, 500),
				util.Prioritized(countedAddresses{countedInline{extension.NewLinkifyParser(
					extension.WithLinkifyURLRegexp(fullAddress()), extension.WithLinkifyWWWRegexp(addressWithout()))}}, 999),
			),
			parser.WithParagraphTransformers(
				util.Prioritized(countedReferences{parser.LinkReferenceParagraphTransformer}, 100),
				util.Prioritized(countedTables{extension.NewTableParagraphTransformer()}, 200),
			),
			parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
		)),
		goldmark.WithRenderer(renderer.NewRenderer(renderer.WithNodeRenderers(
			util.Prioritized(safeNodes{}, 1),
			util.Prioritized(tables, 500),
			util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500),
			util.Prioritized(renderedhtml.NewRenderer(), 1000),
		))),
	)
})

// assistantText renders text of the model or an agent. HTML in it is shown as text, an image as a link, and a link
// with its host; nothing is fetched. A text that is too long or too expensive to parse is shown as plain text.
func assistantText(text string) render.HTML {
	return renderedTexts.html(text, func() render.HTML { return renderMarkdown(text) })
}

func renderMarkdown(text string) render.HTML {
	if len(text) <= maxMarkdown {
		if made, err := convert(text); err == nil {
			return render.HTML(escapeInvisible(made)) //nolint:gosec // goldmark without raw HTML, links below
		}
	}
	return render.HTML(`<p class="raw">`) + prose(text) + `</p>`
}

// convert converts Markdown to HTML. It fails when the text costs too much, is nested too deeply, becomes far
// longer, or makes the parser panic.
func convert(text string) (made string, err error) {
	defer func() {
		if r := recover(); r != nil { // from the meter, or from the parser
			err = fmt.Errorf("markdown: %v", r)
		}
	}()
	source := []byte(text)
	doc := markdown().Parser().Parse(reading.NewReader(source), parser.WithContext(newMeterContext(len(source))))
	if depth(doc) > maxNested {
		return "", errSpent
	}
	prepare(doc)
	w := limited{left: 64<<10 + 16*len(source)}
	if err := markdown().Renderer().Render(&w, source, doc); err != nil {
		return "", err
	}
	return w.b.String(), nil
}

// direction lets each block have the direction of its first letter.
var direction = []byte("auto")

// prepare gives the blocks of a text their direction, and its headings levels without gaps from 2, the highest of a
// text within a page.
func prepare(doc ast.Node) {
	var open []int // levels of the headings around, as the text has them
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			for len(open) > 0 && open[len(open)-1] >= n.Level {
				open = open[:len(open)-1]
			}
			open = append(open, n.Level)
			n.Level = min(len(open)+1, 6)
		case *ast.Paragraph, *ast.Blockquote, *ast.List, *ast.ListItem, *gfm.TableCell:
			n.SetAttributeString("dir", direction)
		}
		return ast.WalkContinue, nil
	})
}

// depth returns the depth of the tree.
func depth(doc ast.Node) int {
	depth, most := 0, 0
	_ = ast.Walk(doc, func(_ ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			depth++
			most = max(most, depth)
		} else {
			depth--
		}
		return ast.WalkContinue, nil
	})
	return most
}

// limited is a writer of at most left bytes.
type limited struct {
	b    strings.Builder
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errSpent
	}
	return l.b.Write(p)
}

// escapeInvisible marks the invisible characters in finished HTML. It comes last, because an entity such as
// &#x202e; becomes a character only when it is rendered. It adds no character with a meaning in HTML.
func escapeInvisible(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	var last rune
	for _, r := range s {
		joiner := (r == '\u200d' || r == '\ufe0f') && unicode.Is(unicode.So, last)
		if joiner || r == '\n' || r == '\t' || r == '\u00a0' || !visible.Invisible(r) {
			b.WriteRune(r)
		} else {
			b.WriteString("⟦" + visible.Name(r) + "⟧")
		}
		if !joiner {
			last = r
		}
	}
	return b.String()
}

// safeNodes renders the nodes that could refer to other origins, and those that the page shows in its own way.
type safeNodes struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (safeNodes) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindLink, link)
	reg.Register(ast.KindAutoLink, autoLink)
	reg.Register(ast.KindImage, image)
	reg.Register(ast.KindRawHTML, rawHTML)
	reg.Register(ast.KindHTMLBlock, htmlBlock)
	reg.Register(ast.KindHeading, heading)
	reg.Register(ast.KindCodeBlock, codeBlock)
	reg.Register(ast.KindFencedCodeBlock, codeBlock)
	reg.Register(gfm.KindTable, table)
	reg.Register(gfm.KindTaskCheckBox, task)
}

// externalLink returns the address of a link to another page, and its host; "" for any other link: relative,
// script, data, or with credentials.
func externalLink(dest []byte) (href, host string) {
	u, err := url.Parse(string(dest))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return "", ""
	}
	u.Host = visible.HostPort(u)
	return u.String(), u.Host
}

func openLink(w util.BufWriter, href string) {
	_, _ = w.WriteString(`<a href="` + escapeHTML(href) + `" target="_blank" rel="noopener noreferrer nofollow">`)
}

func closeLink(w util.BufWriter, host string) {
	_, _ = w.WriteString(`<span class="link-host">` + escapeHTML(host) + `</span></a>`)
}

func link(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	href, host := externalLink(n.(*ast.Link).Destination)
	switch {
	case href == "":
	case entering:
		openLink(w, href)
	default:
		closeLink(w, host)
	}
	return ast.WalkContinue, nil
}

func autoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	l := n.(*ast.AutoLink)
	label := escapeHTML(string(l.Label(source)))
	if href, host := externalLink(l.URL(source)); href != "" {
		openLink(w, href)
		_, _ = w.WriteString(label)
		closeLink(w, host)
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString(label)
	return ast.WalkContinue, nil
}

// image renders the label as the text of a link; the style sheet draws the icon before it.
func image(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	href, host := externalLink(n.(*ast.Image).Destination)
	if _, inLink := n.Parent().(*ast.Link); inLink {
		href = ""
	}
	switch {
	case entering:
		_, _ = w.WriteString(`<span class="image-label">`)
		if href != "" {
			openLink(w, href)
		}
	default:
		if href != "" {
			closeLink(w, host)
		}
		_, _ = w.WriteString(`</span>`)
	}
	return ast.WalkContinue, nil
}

func rawHTML(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		segments := n.(*ast.RawHTML).Segments
		for i := range segments.Len() {
			s := segments.At(i)
			_, _ = w.WriteString(escapeHTML(string(s.Value(source))))
		}
	}
	return ast.WalkSkipChildren, nil
}

func htmlBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	block := n.(*ast.HTMLBlock)
	_, _ = w.WriteString(`<p class="raw">`)
	lines := block.Lines()
	for i := range lines.Len() {
		s := lines.At(i)
		_, _ = w.WriteString(escapeHTML(string(s.Value(source))))
	}
	if block.HasClosure() {
		_, _ = w.WriteString(escapeHTML(string(block.ClosureLine.Value(source))))
	}
	_, _ = w.WriteString("</p>\n")
	return ast.WalkContinue, nil
}

func heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := "h" + string(rune('0'+n.(*ast.Heading).Level))
	if entering {
		_, _ = w.WriteString("<" + tag + ` dir="auto">`)
	} else {
		_, _ = w.WriteString("</" + tag + ">\n")
	}
	return ast.WalkContinue, nil
}

// codeBlock renders a block of code, which can be scrolled by keyboard. The script adds a button that copies it.
func codeBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	var b strings.Builder
	lines := n.Lines()
	for i := range lines.Len() {
		s := lines.At(i)
		b.Write(s.Value(source))
	}
	language := ""
	if fence, ok := n.(*ast.FencedCodeBlock); ok && fence.Info != nil {
		language = languageOf(string(fence.Info.Segment.Value(source)))
	}
	_, _ = w.WriteString(`<figure class="code">`)
	if language != "" {
		_, _ = w.WriteString("<figcaption>" + escapeHTML(language) + "</figcaption>")
	}
	_, _ = w.WriteString(`<pre tabindex="0"><code>` + highlighted(language, b.String()) + "</code></pre></figure>\n")
	return ast.WalkContinue, nil
}

// table renders a table in a box of its own, which can be scrolled by keyboard.
func table(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(`<div class="table-wrap" tabindex="0"><table>` + "\n")
	} else {
		_, _ = w.WriteString("</table></div>\n")
	}
	return ast.WalkContinue, nil
}

// task renders the box of a task as a sign, because nobody can tick it here.
func task(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		sign := "☐"
		if n.(*gfm.TaskCheckBox).IsChecked {
			sign = "☑"
		}
		_, _ = w.WriteString(`<span class="task">` + sign + "</span> ")
	}
	return ast.WalkContinue, nil
}

// escapeHTML escapes a text for HTML, between tags or in an attribute.
func escapeHTML(text string) string {
	return strings.ReplaceAll(html.EscapeString(text), "\x00", "\uFFFD")
}
