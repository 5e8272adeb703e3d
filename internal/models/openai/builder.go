package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"piloto/internal/ground/jcs"
	"piloto/internal/ground/thought"
	"piloto/internal/models/llm"
)

// mostCounted is the largest token count that a provider can report, for input and for output.
const mostCounted = 16 << 20

// mostCalls is the largest number of tool calls in one answer.
const mostCalls = 256

// mostName is the longest name of a tool, in bytes. A stream may send it in parts.
const mostName = 1 << 10

// The finish reasons of an answer that is not whole.
const (
	contentFilter = "content_filter"
	outOfTokens   = "length"
)

// Errors of an answer that was ended with nothing said. A retry would give the same.
var (
	errFiltered = errors.New("the provider's filter let nothing of the answer pass")
	errCutShort = errors.New("the answer was ended at its limit with nothing said")
)

// replyBuilder collects an answer while it arrives. Thoughts and calls are taken out of the text, and the white space around
// it is trimmed: what may be of them waits until more follows.
type replyBuilder struct {
	sink    llm.Sink
	tools   []llm.Tool
	reader  thought.Reader
	opens   bool            // the model's template opens a thought, as is known
	waits   bool            // the text may be such a thought: it waits for its end
	waiting strings.Builder // such a text
	opened  bool            // one was such
	json    strings.Builder // the text so far, of one that may be a call as a whole
	plain   bool            // it is not
	text    strings.Builder
	pending []byte
	thought thoughts
	calls   []*partialCall
	at      map[int]*partialCall // by the provider's index: its newest call
	whole   bool                 // each part is a call of its own
	earlier int                  // the number of calls that earlier chunks of a stream began
	finish  string
	model   string
	usage   llm.Usage
}

// partialCall is a tool call while it arrives.
type partialCall struct {
	id, name  string
	index     *int // the provider's
	arguments strings.Builder
	depth     int  // of the braces that are open in the arguments
	quoted    bool // the arguments so far end inside of a string
	escaped   bool // and after a backslash there
	whole     bool // an object of the arguments has closed
	inText    bool // the model wrote it into its text
	extra     members
}

func newBuilder(r llm.Request, q Quirks) *replyBuilder {
	s := &replyBuilder{sink: r.Sink, tools: r.Tools, at: map[int]*partialCall{}, opens: q.OpensThought, waits: q.OpensThought || !q.Plain}
	s.reader = thought.Reader{Text: s.addVisible, Drop: s.drop, Thought: s.addThought}
	if len(r.Tools) > 0 {
		s.reader.Blocks, s.reader.Block = callBlocks, s.addBlock
	}
	return s
}

// addArguments adds a part of the arguments. It reads each byte once, because a stream may have very many parts.
func (c *partialCall) addArguments(part string) {
	c.arguments.WriteString(part)
	for i := range len(part) {
		switch b := part[i]; {
		case c.escaped:
			c.escaped = false
		case c.quoted && b == '\\':
			c.escaped = true
		case b == '"':
			c.quoted = !c.quoted
		case c.quoted:
		case b == '{':
			c.depth++
		case b == '}':
			c.depth--
			c.whole = c.whole || c.depth == 0
		}
	}
}

// add adds a whole answer, or one chunk of a stream.
func (s *replyBuilder) add(a answer) error {
	s.model = cmp.Or(a.Model, s.model)
	s.whole = a.whole
	s.setUsage(a.Usage)
	s.earlier = len(s.calls)
	for _, choice := range a.Choices {
		part := cmp.Or(choice.Message, choice.Delta)
		if choice.Index != 0 {
			continue
		}
		s.setUsage(choice.Usage)
		if part != nil {
			if s.thought.add(part); s.thought.apart() {
				s.waitNoMore()
			}
			s.reader.Write(textIn(part.Text) + part.Refusal)
			for _, call := range part.Calls {
				if err := s.addCall(call); err != nil {
					return err
				}
			}
		}
		s.finish = cmp.Or(finishOf(choice.Finish), s.finish)
	}
	return nil
}

func (s *replyBuilder) empty() bool { return s.text.Len() == 0 && len(s.calls) == 0 }

// finishOf returns a finish reason in the words of the protocol.
func finishOf(reason string) string {
	switch strings.ToLower(reason) {
	case "null":
		return ""
	case contentFilter, "safety", "prohibited_content", "blocklist", "recitation", "sensitive", "content_filtered", "refusal":
		return contentFilter
	case outOfTokens, "max_tokens", "model_length", "max_output_tokens":
		return outOfTokens
	}
	return reason
}

// isWhole reports whether an answer whose server gave no reason for its end can be all of it: a text, or calls of which each
// has a name and all of its arguments.
func (s *replyBuilder) isWhole() bool {
	s.end()
	return !s.empty() && !slices.ContainsFunc(s.calls, func(c *partialCall) bool {
		return c.name == "" || !c.whole || c.depth != 0 || c.quoted
	})
}

// addCall adds a tool call, or a part of one.
func (s *replyBuilder) addCall(part call) error {
	if s.repeats(part) {
		return nil
	}
	c := s.continued(part)
	if c == nil {
		if len(s.calls) == mostCalls {
			return fmt.Errorf("an answer with more than %d tool calls", mostCalls)
		}
		c = &partialCall{index: part.Index}
		s.calls = append(s.calls, c)
		if part.Index != nil {
			s.at[*part.Index] = c
		}
	}
	if c.id == "" {
		c.id = string(part.ID)
	}
	if c.name != part.Function.Name { // some servers repeat it in every part
		if len(c.name)+len(part.Function.Name) > mostName {
			return fmt.Errorf("a tool call whose name is longer than %d bytes", mostName)
		}
		c.name += part.Function.Name
	}
	c.addArguments(textIn(part.Function.Arguments))
	for name, value := range part.members() {
		if c.extra == nil {
			c.extra = members{}
		}
		c.extra[name] = value
	}
	return nil
}

// repeats reports whether a part is a call that an earlier chunk has, said once more with all of its arguments. Some servers
// end a stream so.
func (s *replyBuilder) repeats(part call) bool {
	return slices.ContainsFunc(s.calls[:s.earlier], func(c *partialCall) bool {
		return c.whole && s.names(part, c) && sameJSON(textIn(part.Function.Arguments), c.arguments.String())
	})
}

// names reports whether a part has the name, the index and the id of a call, as far as it has any. A call without ids is
// known by its index, if the server counts its calls: others send 0 for all.
func (s *replyBuilder) names(part call, c *partialCall) bool {
	sameIndex := part.Index != nil && c.index != nil && *part.Index == *c.index
	switch {
	case part.Function.Name != "" && part.Function.Name != c.name, part.Index != nil && c.index != nil && !sameIndex, part.ID != "" && string(part.ID) != c.id:
		return false
	case part.ID != "":
		return true
	}
	return sameIndex && (part.Function.Name == "" || len(s.at) > 1)
}

// sameJSON reports whether two texts are one JSON object, however it is written.
func sameJSON(a, b string) bool {
	if a == b {
		return a != ""
	}
	if !strings.HasPrefix(strings.TrimSpace(a), "{") {
		return false
	}
	x, err := jcs.Sum(json.RawMessage(a))
	if err != nil {
		return false
	}
	y, err := jcs.Sum(json.RawMessage(b))
	return err == nil && x == y
}

// continued returns the call that a part continues; nil when the part begins one.
func (s *replyBuilder) continued(part call) *partialCall {
	c := s.find(part)
	if c == nil || part.Function.Name != "" && s.beginsAfter(c, part) {
		return nil
	}
	return c
}

// find returns the call to which the index or the id of a part belongs. When servers send no index, or the same index for
// all, a new id with a name begins a new call. A part without any of these belongs to the last call.
func (s *replyBuilder) find(part call) *partialCall {
	begins := part.Function.Name != ""
	if part.Index != nil {
		c := s.at[*part.Index]
		if c != nil && begins && part.ID != "" && c.id != "" && string(part.ID) != c.id {
			return nil
		}
		if begins || s.whole {
			return c
		}
		return cmp.Or(s.headOf(part, c), c)
	}
	if len(s.calls) == 0 || begins && part.ID == "" {
		return nil
	}
	if part.ID != "" {
		if c := s.withID(part.ID); c != nil || begins {
			return c
		}
	}
	return s.calls[len(s.calls)-1] // some servers send a new id with every part
}

func (s *replyBuilder) withID(id label) *partialCall {
	for _, c := range slices.Backward(s.calls) {
		if c.id == string(id) {
			return c
		}
	}
	return nil
}

// headOf returns the call to which a part without a name belongs, when that is not c, the newest call of its index, because the
// head came under another index: an earlier one of that index whose arguments are not whole, and where c is none or whole, the
// one with its id, at its place, or the last one that lacks arguments. nil: there is no other.
func (s *replyBuilder) headOf(part call, c *partialCall) *partialCall {
	if c != nil && c.arguments.Len() == 0 {
		for _, other := range s.calls {
			if other.index != nil && *other.index == *part.Index && other.arguments.Len() > 0 && !other.whole {
				return other
			}
		}
	}
	if c != nil && (!c.whole || strings.TrimSpace(textIn(part.Function.Arguments)) == "") {
		return nil
	}
	head := s.lacking(*part.Index)
	if c == nil && part.ID != "" {
		head = cmp.Or(s.withID(part.ID), head)
	}
	if head != nil {
		s.at[*part.Index] = head
	}
	return head
}

// lacking returns the call at a place, or else the last one, whose arguments are not whole; nil when there is none.
func (s *replyBuilder) lacking(place int) *partialCall {
	if place >= 0 && place < len(s.calls) && !s.calls[place].whole {
		return s.calls[place]
	}
	for _, c := range slices.Backward(s.calls) {
		if !c.whole {
			return c
		}
	}
	return nil
}

// beginsAfter reports whether a part with a name begins a call of its own, although it has the index or the id of c. Servers
// repeat these for several calls, and others repeat the name in every part of one call.
func (s *replyBuilder) beginsAfter(c *partialCall, part call) bool {
	if part.Function.Name == c.name {
		return c.whole && strings.TrimSpace(textIn(part.Function.Arguments)) != ""
	}
	return c.arguments.Len() > 0 || s.isTool(c.name) && s.isTool(part.Function.Name)
}

func (s *replyBuilder) isTool(name string) bool {
	return toolNamed(name, s.tools) != ""
}

// setUsage keeps the newest counts of the provider, unless they are 0 or impossible.
func (s *replyBuilder) setUsage(u *tokens) {
	if u == nil || u.Input > mostCounted || u.Output > mostCounted {
		return // impossible counts: the tokens are estimated instead
	}
	if u.Input > 0 || u.Output > 0 {
		s.usage = llm.Usage{Input: u.Input, Cached: u.fromCache(), Output: u.Output}
	}
}

// check returns an error when an answer that was read to its end is not complete.
func (s *replyBuilder) check() error {
	switch {
	case s.finish == "error":
		return errors.New("the provider ended the answer with an error")
	case s.empty() && s.finish == contentFilter:
		return errFiltered
	case s.empty() && s.finish == outOfTokens:
		return errCutShort
	case s.finish == "":
		return errors.New("an answer without a finish reason")
	} // an answer without text and with the reason stop is complete
	return nil
}

// isSaidTwice reports whether a call is the old form of another one, or is in the text beside it: some servers send both.
func (s *replyBuilder) isSaidTwice(c *partialCall) bool {
	return c.rank() > 0 && slices.ContainsFunc(s.calls, func(other *partialCall) bool {
		return other.rank() < c.rank() && other.name == c.name && sameJSON(other.arguments.String(), c.arguments.String())
	})
}

// rank is higher for a form that other servers send beside the usual one.
func (c *partialCall) rank() int {
	switch {
	case c.inText:
		return 2
	case c.index != nil && *c.index == oldIndex:
		return 1
	}
	return 0
}

// fill writes the answer into a reply to r.
func (s *replyBuilder) fill(reply *llm.Reply, r llm.Request) {
	reply.Text = s.text.String()
	reply.Length = s.finish == outOfTokens
	reply.Cut = reply.Length || s.finish == contentFilter
	reply.Thought, reply.Extra = s.thought.text.String(), s.thought.extra()
	for _, c := range s.calls {
		c.name = cmp.Or(toolNamed(c.name, s.tools), c.name)
	}
	for _, c := range s.calls {
		if !s.isSaidTwice(c) {
			reply.Calls = append(reply.Calls, llm.Call{ID: c.id, Name: c.name, Arguments: c.arguments.String(), Extra: c.extra.object()})
		}
	}
	reply.Usage = s.usage
	if reply.Usage.Input <= 0 {
		reply.Usage.Input, reply.Usage.Estimated = r.Estimate(), true
	}
	if reply.Usage.Output <= 0 {
		reply.Usage.Output, reply.Usage.Estimated = reply.Estimate()+llm.EstimateText(s.thought.inText.String()), true
	}
}
