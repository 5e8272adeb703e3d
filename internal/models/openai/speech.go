package openai

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	sdk "github.com/sashabaranov/go-openai"

	"piloto/internal/models/llm"
)

// mostCounted bounds what a provider may say that an answer used, of each kind.
const mostCounted = 16 << 20

// mostCalls bounds the tool calls of one answer.
const mostCalls = 256

// mostName bounds the name of a tool, in bytes: a stream brings it in parts.
const mostName = 1 << 10

// errFiltered is an answer that another try would not change.
var errFiltered = errors.New("the answer was ended with nothing said")

// speech is an answer as it is being said. Its text has no white space around
// it: what could be such waits until something follows.
type speech struct {
	sink   llm.Sink
	text   strings.Builder
	held   []byte
	calls  []*spoken
	at     map[int]*spoken // by the provider's index: the newest of it
	finish sdk.FinishReason
	model  string
	usage  llm.Usage
}

// spoken is a tool call as it is being said.
type spoken struct {
	id, name  string
	arguments strings.Builder
}

func (s *speech) empty() bool { return s.text.Len() == 0 && len(s.calls) == 0 }

func (s *speech) say(delta string) {
	if s.text.Len() == 0 {
		delta = strings.TrimLeftFunc(delta, unicode.IsSpace)
	}
	visible := strings.TrimRightFunc(delta, unicode.IsSpace)
	if visible != "" {
		now := string(s.held) + visible
		s.held = s.held[:0]
		s.text.WriteString(now)
		if s.sink != nil {
			s.sink.Text(now)
		}
	}
	s.held = append(s.held, delta[len(visible):]...)
}

// call takes in a tool call, or a part of one. A part says which call it belongs
// to by its index; where servers give none, or the same one to all, a new id with
// a name begins a new call. A part without any of these goes on with the last.
func (s *speech) call(part sdk.ToolCall) error {
	c := s.belongs(part)
	if c == nil {
		if len(s.calls) == mostCalls {
			return fmt.Errorf("an answer with more than %d tool calls", mostCalls)
		}
		c = &spoken{}
		s.calls = append(s.calls, c)
		if part.Index != nil {
			if s.at == nil {
				s.at = map[int]*spoken{}
			}
			s.at[*part.Index] = c
		}
	}
	if c.id == "" {
		c.id = part.ID
	}
	if c.name != part.Function.Name { // some repeat it in every part
		if len(c.name)+len(part.Function.Name) > mostName {
			return fmt.Errorf("a tool call whose name is longer than %d bytes", mostName)
		}
		c.name += part.Function.Name
	}
	c.arguments.WriteString(part.Function.Arguments)
	return nil
}

func (s *speech) belongs(part sdk.ToolCall) *spoken {
	begins := part.Function.Name != ""
	if part.Index != nil {
		c := s.at[*part.Index]
		if c != nil && begins && part.ID != "" && c.id != "" && part.ID != c.id {
			return nil
		}
		return c
	}
	if len(s.calls) == 0 || begins && part.ID == "" {
		return nil
	}
	last := s.calls[len(s.calls)-1]
	if part.ID == "" || part.ID == last.id {
		return last
	}
	for _, c := range s.calls {
		if c.id == part.ID {
			return c
		}
	}
	if !begins {
		return last // a new id for every part
	}
	return nil
}

// counted keeps the newest count of the provider that counts something.
func (s *speech) counted(u *sdk.Usage) {
	if u == nil || u.PromptTokens > mostCounted || u.CompletionTokens > mostCounted {
		return // no model reads or writes so many: they are counted here
	}
	if u.PromptTokens > 0 || u.CompletionTokens > 0 {
		s.usage = llm.Usage{Input: u.PromptTokens, Output: u.CompletionTokens}
	}
}

// complete reports what is wrong with an answer that has been read to its end.
func (s *speech) complete() error {
	switch {
	case s.finish == "error":
		return errors.New("the provider ended the answer with an error")
	case s.empty() && (s.finish == sdk.FinishReasonContentFilter || s.finish == sdk.FinishReasonLength):
		return fmt.Errorf("%w: %s", errFiltered, s.finish)
	case s.finish == "" || s.finish == sdk.FinishReasonNull:
		return errors.New("an answer without a finish reason")
	} // a model that stops without a word has answered
	return nil
}

// fill writes what was said into a reply to r. A call without an id is given one,
// since its result must name it.
func (s *speech) fill(reply *llm.Reply, r llm.Request) {
	reply.Text = s.text.String()
	reply.Cut = s.finish == sdk.FinishReasonLength || s.finish == sdk.FinishReasonContentFilter
	for i, c := range s.calls {
		id := c.id
		if id == "" {
			id = fmt.Sprintf("call_%d_%d", len(r.Messages), i)
		}
		reply.Calls = append(reply.Calls, llm.Call{ID: id, Name: c.name, Arguments: c.arguments.String()})
	}
	reply.Usage = s.usage
	if reply.Usage.Input <= 0 {
		reply.Usage.Input, reply.Usage.Estimated = r.Estimate(), true
	}
	if reply.Usage.Output <= 0 {
		reply.Usage.Output, reply.Usage.Estimated = reply.Estimate(), true
	}
}
