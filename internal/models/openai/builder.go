package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"piloto/internal/ground/jcs"
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

// errFiltered means that a retry would give the same result.
var errFiltered = errors.New("the answer was ended with nothing said")

// replyBuilder collects an answer while it arrives. It trims the white space around the text: trailing white space
// waits until more text follows.
type replyBuilder struct {
	sink    llm.Sink
	tools   []llm.Tool
	text    strings.Builder
	pending []byte
	calls   []*partialCall
	at      map[int]*partialCall // by the provider's index: its newest call
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
	s.setUsage(a.Usage)
	s.earlier = len(s.calls)
	for _, choice := range a.Choices {
		part := cmp.Or(choice.Message, choice.Delta)
		if choice.Index != 0 {
			continue
		}
		if part != nil {
			s.addText(textIn(part.Text) + part.Refusal)
			for _, call := range part.Calls {
				if err := s.addCall(call); err != nil {
					return err
				}
			}
		}
		s.finish = cmp.Or(choice.Finish, s.finish)
	}
	return nil
}

func (s *replyBuilder) empty() bool { return s.text.Len() == 0 && len(s.calls) == 0 }

// isWhole reports whether an answer whose server gave no reason for its end can be all of it: a text, or calls of which each
// has a name and all of its arguments.
func (s *replyBuilder) isWhole() bool {
	return !s.empty() && !slices.ContainsFunc(s.calls, func(c *partialCall) bool {
		return c.name == "" || !c.whole || c.depth != 0 || c.quoted
	})
}

func (s *replyBuilder) addText(delta string) {
	if s.text.Len() == 0 {
		delta = strings.TrimLeftFunc(delta, unicode.IsSpace)
	}
	visible := strings.TrimRightFunc(delta, unicode.IsSpace)
	if visible != "" {
		now := string(s.pending) + visible
		s.pending = s.pending[:0]
		s.text.WriteString(now)
		if s.sink != nil {
			s.sink.Text(now)
		}
	}
	s.pending = append(s.pending, delta[len(visible):]...)
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
			if s.at == nil {
				s.at = map[int]*partialCall{}
			}
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
		return c
	}
	if len(s.calls) == 0 || begins && part.ID == "" {
		return nil
	}
	if part.ID != "" {
		for _, c := range slices.Backward(s.calls) {
			if c.id == string(part.ID) {
				return c
			}
		}
		if begins {
			return nil
		}
	}
	return s.calls[len(s.calls)-1] // some servers send a new id with every part
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
	return slices.ContainsFunc(s.tools, func(t llm.Tool) bool { return t.Name == name })
}

// setUsage keeps the newest counts of the provider, unless they are 0 or impossible.
func (s *replyBuilder) setUsage(u *tokens) {
	if u == nil || u.Input > mostCounted || u.Output > mostCounted {
		return // impossible counts: the tokens are estimated instead
	}
	if u.Input > 0 || u.Output > 0 {
		s.usage = llm.Usage{Input: u.Input, Output: u.Output}
		if d := u.Prompt; d != nil {
			s.usage.Cached = min(max(d.Cached, 0), max(u.Input, 0))
		}
	}
}

// check returns an error when an answer that was read to its end is not complete.
func (s *replyBuilder) check() error {
	switch {
	case s.finish == "error":
		return errors.New("the provider ended the answer with an error")
	case s.empty() && (s.finish == contentFilter || s.finish == outOfTokens):
		return fmt.Errorf("%w: %s", errFiltered, s.finish)
	case s.finish == "" || s.finish == "null":
		return errors.New("an answer without a finish reason")
	} // an answer without text and with the reason stop is complete
	return nil
}

// isSaidAsOld reports whether a call is the old form of another one: some servers send both.
func (s *replyBuilder) isSaidAsOld(c *partialCall) bool {
	return c.isOld() && slices.ContainsFunc(s.calls, func(other *partialCall) bool {
		return !other.isOld() && other.name == c.name && sameJSON(other.arguments.String(), c.arguments.String())
	})
}

func (c *partialCall) isOld() bool { return c.index != nil && *c.index == oldIndex }

// fill writes the answer into a reply to r.
func (s *replyBuilder) fill(reply *llm.Reply, r llm.Request) {
	reply.Text = s.text.String()
	reply.Length = s.finish == outOfTokens
	reply.Cut = reply.Length || s.finish == contentFilter
	for _, c := range s.calls {
		if s.isSaidAsOld(c) {
			continue
		}
		reply.Calls = append(reply.Calls, llm.Call{ID: c.id, Name: c.name, Arguments: c.arguments.String()})
	}
	reply.Usage = s.usage
	if reply.Usage.Input <= 0 {
		reply.Usage.Input, reply.Usage.Estimated = r.Estimate(), true
	}
	if reply.Usage.Output <= 0 {
		reply.Usage.Output, reply.Usage.Estimated = reply.Estimate(), true
	}
}
