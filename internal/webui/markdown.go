package webui

import (
	"bytes"
	"html"
	"net/url"
	"strings"
	"sync"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"piloto/internal/render"
)

// maxMarkdown is how much text is read as Markdown; more is shown as it is.
const maxMarkdown = 64 << 10

var markdown = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
			extension.Strikethrough, extension.Linkify,
		),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(safeNodes{}, 1))),
	)
})

// assistantText renders what the model wrote. HTML in it is text, an image is a
// link that says so, and a link shows its host; nothing is fetched.
func assistantText(text string) render.HTML {
	if len(text) > maxMarkdown {
		return render.HTML(`<p class="raw">`) + prose(text) + `</p>`
	}
	var b bytes.Buffer
	if err := markdown().Convert([]byte(text), &b); err != nil {
		return render.HTML(`<p class="raw">`) + prose(text) + `</p>`
	}
	return render.HTML(visible(b.String())) //nolint:gosec // goldmark without raw HTML, links below
}

// visible writes out what cannot be seen in finished HTML. It comes last because
// an entity such as &#x202e; is a character only once it was rendered, and it
// adds no sign that means anything in HTML.
func visible(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	var last rune
	for _, r := range s {
		joiner := (r == '\u200d' || r == '\ufe0f') && unicode.Is(unicode.So, last)
		if joiner || r == '\n' || r == '\t' || r == '\u00a0' || !invisible(r) {
			b.WriteRune(r)
		} else {
			b.WriteString("⟦" + codePoint(r) + "⟧")
		}
		if !joiner {
			last = r
		}
	}
	return b.String()
}

// safeNodes renders the nodes that could reach out of the page.
type safeNodes struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (safeNodes) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindLink, link)
	reg.Register(ast.KindAutoLink, autoLink)
	reg.Register(ast.KindImage, image)
	reg.Register(ast.KindRawHTML, rawHTML)
	reg.Register(ast.KindHTMLBlock, htmlBlock)
	reg.Register(ast.KindHeading, heading)
}

// outside returns the address of a link that leads out of the page, and its
// host; "" for any other: relative, script, data, or with a name and password.
func outside(dest []byte) (href, host string) {
	u, err := url.Parse(string(dest))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return "", ""
	}
	u.Host = hostPort(u)
	return u.String(), u.Host
}

func openLink(w util.BufWriter, href string) {
	_, _ = w.WriteString(`<a href="` + escaped(href) + `" target="_blank" rel="noopener noreferrer nofollow">`)
}

func closeLink(w util.BufWriter, host string) {
	_, _ = w.WriteString(`<span class="link-host">` + escaped(host) + `</span></a>`)
}

func link(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	href, host := outside(n.(*ast.Link).Destination)
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
	label := escaped(string(l.Label(source)))
	if href, host := outside(l.URL(source)); href != "" {
		openLink(w, href)
		_, _ = w.WriteString(label)
		closeLink(w, host)
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString(label)
	return ast.WalkContinue, nil
}

// image shows the label as the text of a link; the sign before it is drawn by
// the style sheet.
func image(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	href, host := outside(n.(*ast.Image).Destination)
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
			_, _ = w.WriteString(escaped(string(s.Value(source))))
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
		_, _ = w.WriteString(escaped(string(s.Value(source))))
	}
	if block.HasClosure() {
		_, _ = w.WriteString(escaped(string(block.ClosureLine.Value(source))))
	}
	_, _ = w.WriteString("</p>\n")
	return ast.WalkContinue, nil
}

// heading keeps the model's headings below the page's own.
func heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	level := min(n.(*ast.Heading).Level+2, 6)
	tag := "h" + string(rune('0'+level)) + ">"
	if entering {
		_, _ = w.WriteString("<" + tag)
	} else {
		_, _ = w.WriteString("</" + tag + "\n")
	}
	return ast.WalkContinue, nil
}

// escaped is text that stands in HTML, between tags or in an attribute.
func escaped(text string) string {
	return strings.ReplaceAll(html.EscapeString(text), "\x00", "\uFFFD")
}
