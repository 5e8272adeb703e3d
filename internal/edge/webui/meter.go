package webui

import (
	"bytes"
	"errors"
	"regexp"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// The Markdown parser reads the rest of a paragraph again for many of its signs, so a hostile text costs the square
// of its length. These wrappers count the work of each part, and stop the parser when it exceeds the limit for the
// length of the text. A unit of work is about one byte that is read, or one or two nanoseconds.
const (
	costPerByte = 64      // far more than ordinary texts need
	costAlways  = 8 << 10 // for any text, because short ones have few bytes
	maxNesting  = 40      // open blocks; a list and its item are two
	maxNested   = 120     // nested nodes, with emphasis and links
)

// errSpent stops the parsing of a text that costs too much.
var errSpent = errors.New("the text costs too much to be read as Markdown")

var meterKey = parser.NewContextKey()

// meter counts the work for one text. The counts below left are those of the current block.
type meter struct {
	left     int
	pipes    int       // escaped ones in tables, in the whole text
	nodes    int       // inline nodes created
	delims   int       // emphasis delimiters found
	brackets []bracket // open brackets
}

// bracket is an open bracket: its position, and the number of nodes before it.
type bracket struct{ at, nodes int }

// newMeterContext returns the parser's context for a text of n bytes, with its meter.
func newMeterContext(n int) parser.Context {
	pc := parser.NewContext()
	pc.Set(meterKey, &meter{left: costAlways + costPerByte*n})
	return pc
}

func meterOf(pc parser.Context) *meter { return pc.Get(meterKey).(*meter) }

// spend panics with errSpent when the limit is exceeded, because the parser cannot be stopped otherwise. The caller
// of the parser recovers.
func (m *meter) spend(n int) {
	if m.left -= n; m.left < 0 {
		panic(errSpent)
	}
}

// countedBlock counts the calls of a block parser: one for each line and each block that is open on it.
type countedBlock struct{ parser.BlockParser }

func (c countedBlock) Open(parent ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	meterOf(pc).spend(8)
	return c.BlockParser.Open(parent, r, pc)
}

func (c countedBlock) Continue(n ast.Node, r text.Reader, pc parser.Context) parser.State {
	meterOf(pc).spend(32)
	return c.BlockParser.Continue(n, r, pc)
}

// countedContainer opens no block inside too many others; then its sign is text.
type countedContainer struct{ countedBlock }

func (c countedContainer) Open(parent ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, at := r.Position()
	n, state := c.countedBlock.Open(parent, r, pc)
	if n != nil && len(pc.OpenedBlocks()) >= maxNesting {
		r.SetPosition(line, at)
		return nil, parser.NoChildren
	}
	return n, state
}

// countedReferences counts the extraction of link definitions from a paragraph: the lines are copied for each.
type countedReferences struct{ parser.ParagraphTransformer }

func (c countedReferences) Transform(p *ast.Paragraph, r text.Reader, pc parser.Context) {
	lines, definitions := p.Lines(), 0
	for i := range lines.Len() {
		at := lines.At(i)
		if bytes.HasPrefix(bytes.TrimLeft(at.Value(r.Source()), " \t"), []byte("[")) {
			definitions++
		}
	}
	meterOf(pc).spend(2 * definitions * lines.Len())
	c.ParagraphTransformer.Transform(p, r, pc)
}

// countedTables counts the cells of a table, because every row gets as many as the head has, and the escaped pipes,
// because each is searched for in every cell.
type countedTables struct{ parser.ParagraphTransformer }

func (c countedTables) Transform(p *ast.Paragraph, r text.Reader, pc parser.Context) {
	m, lines := meterOf(pc), p.Lines()
	columns, pipes, ticks := 0, 0, 0
	for i := range lines.Len() {
		at := lines.At(i)
		line := at.Value(r.Source())
		if i > 0 && len(bytes.Trim(line, " \t\r\n|:-")) == 0 {
			columns = max(columns, 1+bytes.Count(line, []byte("|")))
		}
		pipes += bytes.Count(line, []byte(`\|`))
		ticks += bytes.Count(line, []byte("`"))
	}
	if columns > 0 {
		m.pipes += pipes
		m.spend(32*columns*lines.Len() + m.pipes*(pipes+ticks))
	}
	c.ParagraphTransformer.Transform(p, r, pc)
}

// countedInline counts the bytes that an inline parser reads.
type countedInline struct{ parser.InlineParser }

func (c countedInline) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	m := meterOf(pc)
	m.spend(4)
	n := c.InlineParser.Parse(parent, countedReader{block, m, parent.Lines().Len()}, pc)
	if n != nil {
		m.spend(16)
		m.nodes += 2 // with the text before it
	}
	return n
}

// CloseBlock implements parser.CloseBlocker.
func (c countedInline) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	m := meterOf(pc)
	m.nodes, m.delims, m.brackets = 0, 0, m.brackets[:0]
	if closer, ok := c.InlineParser.(parser.CloseBlocker); ok {
		closer.CloseBlock(parent, block, pc)
	}
}

// countedLinks counts the work for a closing bracket: a lookup of the text since the opening one as a name, and a search
// for links in the nodes since then.
type countedLinks struct{ countedInline }

func (c countedLinks) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	m := meterOf(pc)
	line, at := block.PeekLine()
	if line[0] != ']' {
		n := c.countedInline.Parse(parent, block, pc)
		if n != nil {
			m.brackets = append(m.brackets, bracket{at.Start, m.nodes})
		}
		return n
	}
	if last := len(m.brackets) - 1; last >= 0 {
		open := m.brackets[last]
		m.brackets = m.brackets[:last]
		m.spend(m.nodes - open.nodes + 4*min(at.Start-open.at, 1000))
	}
	emphasis := pc.LastDelimiter() != nil
	n := c.countedInline.Parse(parent, block, pc)
	switch n := n.(type) {
	case *ast.Link:
		m.spend(len(n.Destination) + len(n.Title))
	case *ast.Image:
		m.spend(len(n.Destination) + len(n.Title))
	default:
		if len(line) > 1 && line[1] == '(' {
			m.spend(len(line))
		}
		return n
	}
	if emphasis {
		m.spend(m.nodes)
	}
	return n
}

// countedDelimiters counts the work for an emphasis delimiter: the earlier ones are searched for its pair.
type countedDelimiters struct{ countedInline }

func (c countedDelimiters) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	m := meterOf(pc)
	line, _ := block.PeekLine()
	m.spend(len(line) - len(bytes.TrimLeft(line, string(line[:1]))))
	n := c.countedInline.Parse(parent, block, pc)
	if n != nil {
		m.delims++
		m.spend(4 * m.delims)
	}
	return n
}

// countedAddresses counts the words that are tried as an address.
type countedAddresses struct{ countedInline }

// Prefixes of addresses, and the expressions for complete ones. Those of the library limit the length of a host by
// counting, which makes their state machines slow.
var (
	addressStarts = [][]byte{[]byte("http:"), []byte("https:"), []byte("ftp:"), []byte("www.")}
	fullAddress   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:http|https|ftp)://[-a-zA-Z0-9@:%._+~#=]+\.[a-z]+(?::\d+)?(?:[/#?][-a-zA-Z0-9@:%_+.~#$!?&/=();,'">^{}\[\]` + "`" + `]*)?`)
	})
	addressWithout = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^www\.[-a-zA-Z0-9@:%._+~#=]+\.[a-z]+(?:[/#?][-a-zA-Z0-9@:%_+.~#!?&/=();,'">^{}\[\]` + "`" + `]*)?`)
	})
)

func (c countedAddresses) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, _ := block.PeekLine()
	if len(line) > 1 && bytes.IndexByte([]byte(" *_~("), line[0]) >= 0 {
		line = line[1:]
	}
	for _, start := range addressStarts {
		if bytes.HasPrefix(line, start) {
			word := bytes.IndexByte(line, ' ')
			if word < 0 {
				word = len(line)
			}
			meterOf(pc).spend(4 * word)
			break
		}
	}
	return c.countedInline.Parse(parent, block, pc)
}

// countedReader counts the bytes that are read from a block.
type countedReader struct {
	text.Reader
	m     *meter
	lines int // of the block
}

// rest returns the rest of the line, in bytes.
func (r countedReader) rest() int {
	_, at := r.Position()
	return max(0, at.Stop-at.Start)
}

func (r countedReader) Advance(n int) {
	r.m.spend(n)
	r.Reader.Advance(n)
}

func (r countedReader) AdvanceLine() {
	r.m.spend(1 + r.rest())
	r.Reader.AdvanceLine()
}

func (r countedReader) FindClosure(opener, closer byte, options text.FindClosureOptions) (*text.Segments, bool) {
	_, before := r.Position()
	segments, found := r.Reader.FindClosure(opener, closer, options)
	_, after := r.Position()
	if !found {
		after.Start = after.Stop // the reader stays on the line that was read
	}
	r.m.spend(max(1, after.Start-before.Start))
	return segments, found
}

func (r countedReader) Value(s text.Segment) []byte {
	r.m.spend(r.lines + max(0, s.Len()))
	return r.Reader.Value(s)
}

func (r countedReader) ReadRune() (rune, int, error) {
	r.m.spend(8)
	return r.Reader.ReadRune()
}

// Match is a copy of the reader's own method, which calls this ReadRune.
func (r countedReader) Match(reg *regexp.Regexp) bool {
	line, at := r.Position()
	match := reg.FindReaderSubmatchIndex(r)
	r.SetPosition(line, at)
	if match == nil {
		return false
	}
	r.Advance(match[1] - match[0])
	return true
}
