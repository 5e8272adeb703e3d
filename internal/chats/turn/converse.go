package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/parallel"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
)

// Bounds of one turn with the model.
const (
	mostRounds   = 10       // calls of the model
	mostSearches = 4        // of the catalogue
	mostMended   = 2        // broken tool calls that are given back with their errors
	mostText     = 64 << 10 // bytes of an answer
)

// dialog is the way of a turn in which a model converses, and may propose plans.
type dialog struct {
	inquiry
	gathered
	heard    conversation.Message   // of the person: what is answered
	held     conversation.Answering // what the chat is told of, should the delay be the end of this process
	persona  string
	pending  *plan.Run // the draft that waits, when the model may change it
	searches int
	broken   int
	forced   bool     // a text that pretends was asked again
	words    []string // what the model said beside its calls, or before it was asked again
}

func (s *Service) dialog(req Request, chat conversation.Chat) *dialog {
	return &dialog{inquiry: inquiry{Service: s, req: req, chat: chat}}
}

func (d *dialog) asks() *inquiry { return &d.inquiry }

// reads implements way.
func (d *dialog) reads(ctx context.Context, said conversation.Message) []func() error {
	d.heard = said
	chat := d.chat // as it was found: what is stored beside this changes nothing that is read here
	return []func() error{
		func() (err error) { d.talk, err = d.loadTalk(ctx, d.req, chat, said); return },
		func() (err error) {
			d.project, err = d.loadProject(ctx, d.req.Principal.Account, chat.ProjectID)
			return
		},
		func() (err error) { d.listed, err = d.loadCatalogue(ctx, d.req.Principal.Account); return },
		func() (err error) { d.rules, err = d.Store.Rules(ctx, d.req.Principal.Account); return },
		func() error { d.watched = d.Tell.Watched(ctx, d.req.Principal.Account); return nil },
	}
}

// due implements way: it holds a chat to when it is answered: not before somebody asks, or
// after the delay, and then the last of the messages that came within it. What was
// answered before is answered alike.
func (d *dialog) due(ctx context.Context, said conversation.Message, snapshot eligibility.Snapshot) (over bool, reply Reply, err error) {
	s, req, chat, automation := d.Service, d.req, d.chat, snapshot.Automation()
	if d.known.ID != "" {
		reply, err = s.again(ctx, req, d.chat, d.known)
		return true, reply, err
	}
	if req.asked {
		return false, Reply{}, nil
	}
	if automation.Mode == eligibility.Manual {
		reply, err = s.text(ctx, req, chat, conversation.KindNotice, locale.Text(req.Locale, "turn.manual"), nil)
		return true, reply, err
	}
	delay := time.Duration(automation.DelayMS) * time.Millisecond
	if automation.Mode != eligibility.Automatic || delay <= 0 {
		return false, Reply{}, nil
	}
	switch d.held, err = s.takeAnswer(ctx, req, chat.ID, said.ID); {
	case errors.Is(err, conversation.ErrAnswering): // somebody asked for the answer meanwhile
		return true, s.aside(req, chat, "turn.being_answered"), nil
	case err != nil:
		return true, Reply{}, err
	}
	select {
	case <-ctx.Done():
		return true, Reply{}, ctx.Err()
	case <-time.After(min(delay, eligibility.MaxDelay)):
	}
	if stop, err := s.Store.StopAsked(ctx, req.Principal.Account, chat.ID); err == nil && !stop.Before(d.began.Truncate(time.Millisecond)) {
		reply, err = s.text(ctx, req, chat, conversation.KindNotice, locale.Text(req.Locale, "turn.stopped"), nil)
		return true, reply, err
	}
	if d.talk, err = s.loadTalk(ctx, req, chat, said); err != nil {
		return true, Reply{}, err
	}
	if !d.later {
		return false, Reply{}, nil
	}
	return true, s.aside(req, chat, "turn.joined"), nil // the other message's turn answers both
}

// prepare implements way.
func (d *dialog) prepare(snapshot eligibility.Snapshot) error {
	if snapshot.Assistant != nil {
		d.persona = snapshot.Assistant.Persona
	}
	d.listed = allowed(d.listed, d.project)
	d.pending = d.waiting()
	system, err := d.prompt()
	d.messages = append([]llm.Message{{Role: llm.System, Content: system}}, d.history...)
	d.tools = offers(d.listed, d.pending != nil)
	return err
}

// converse lets the model answer, within asking, until it comes to a text or to
// a draft.
func (d *dialog) converse(ctx, asking context.Context) (Reply, error) {
	asking, d.writing = d.write(asking, d.req.Principal.Account, d.chat, d.meter.Turn.ID, d.began)
	d.writing.shown = d.watched
	defer d.writing.end(ctx)
	force := false
	for range mostRounds {
		answer, err := d.ask(asking, force)
		if err != nil {
			return d.ended(ctx, asking, answer, err)
		}
		if len(answer.Calls) == 0 {
			reply, again, err := d.spoken(ctx, answer.Text)
			if !again {
				return reply, err
			}
			force = true
			continue
		}
		reply, over, err := d.called(ctx, answer)
		if over || err != nil {
			return reply, err
		}
		force = false
	}
	return d.giveUp(ctx, locale.Text(d.req.Locale, "turn.too_many_rounds"))
}

// ended says what became of a turn whose model gave no answer: somebody stopped
// it, it may not go on, or something of ours failed.
func (d *dialog) ended(ctx, asking context.Context, answer llm.Reply, err error) (Reply, error) {
	ctx = context.WithoutCancel(ctx)
	by, text := d.by(), d.spelled(answer.Text)
	if by.Stopped = errors.Is(context.Cause(asking), errStopped); !by.Stopped {
		if len(d.words) == 0 {
			return d.unanswered(ctx, err)
		}
		d.Log.WarnContext(ctx, "turn.not_asked_again", "chat_id", d.chat.ID, "error", err)
		text = d.spelled("") // what broke off is no answer; what was said before it stands
	}
	if text != "" {
		notes, err := d.notes(ctx, text)
		if err != nil {
			return Reply{}, err
		}
		return d.text(ctx, d.req, d.chat, conversation.KindText, shortened(text), by, notes...)
	}
	return d.text(ctx, d.req, d.chat, conversation.KindNotice, locale.Text(d.req.Locale, "turn.stopped"), by)
}

// say answers with a text of this turn's model, or about it. What the turn used
// is settled at the same time: nothing more is used.
func (d *dialog) say(ctx context.Context, kind conversation.Kind, text string, notes ...conversation.Note) (reply Reply, err error) {
	by := d.by()
	_ = parallel.Do(
		func() error { reply, err = d.text(ctx, d.req, d.chat, kind, text, by, notes...); return nil },
		func() error { d.meter.settle(ctx, Reply{Kind: replyOf(kind), By: by}, nil); return nil },
	)
	return reply, err
}

// spoken handles an answer in text. When the text pretends, the model is asked once more, with
// a tool call forced. All that it said stays, whatever comes of that. A note under the text
// says what is not true.
func (d *dialog) spoken(ctx context.Context, text string) (Reply, bool, error) {
	if !d.forced && d.pretends(text) {
		d.Log.WarnContext(ctx, "turn.pretends", "chat_id", d.chat.ID)
		d.forced = true
		d.keep(text)
		d.messages = append(d.messages,
			llm.Message{Role: llm.Assistant, Content: text},
			llm.Message{Role: llm.System, Content: locale.Text(d.req.Locale, "prompt.ghost")})
		return Reply{}, true, nil
	}
	whole := d.spelled(text)
	if whole == "" {
		reply, err := d.say(ctx, conversation.KindNotice, locale.Text(d.req.Locale, "turn.empty"))
		return reply, false, err
	}
	notes, err := d.notes(ctx, whole)
	if err != nil {
		return Reply{}, false, err
	}
	reply, err := d.say(ctx, conversation.KindText, shortened(whole), notes...)
	return reply, false, err
}

// shortened bounds what is kept of an answer: a message is one item.
func shortened(text string) string {
	if len(text) <= mostText {
		return text
	}
	return strings.ToValidUTF8(text[:mostText], "") + "…"
}

// called handles an answer with tool calls: proposals become a draft, and
// everything else is answered to the model. It reports whether the turn is over.
func (d *dialog) called(ctx context.Context, answer llm.Reply) (Reply, bool, error) {
	d.keep(answer.Text)
	d.messages = append(d.messages, llm.Message{Role: llm.Assistant, Content: answer.Text, Calls: answer.Calls})
	var p proposals
	results := make([]string, len(answer.Calls))
	for i, call := range answer.Calls {
		raw, err := readArguments(call.Arguments)
		switch {
		case !slices.ContainsFunc(d.tools, func(t llm.Tool) bool { return t.Name == call.Name }):
			results[i] = failed("", fmt.Sprintf("there is no tool %q; there are %s", call.Name, names(d.tools)))
			p.refuse(results[i])
		case err != nil:
			results[i] = failed("", err.Error())
			p.refuse(results[i])
		case call.Name == toolSearch:
			if results[i], err = d.searched(ctx, raw); err != nil {
				return Reply{}, true, err
			}
		default:
			p.read(call.Name, raw)
		}
	}
	if p.any() && len(p.wrong) == 0 && p.refused == "" { // a plan without one of its steps is another plan
		reply, wrong, err := d.planned(ctx, p)
		if err != nil || len(wrong) == 0 {
			return reply, true, err
		}
		p.wrong = p.place(wrong)
	}
	if len(p.wrong) > 0 || p.refused != "" {
		if d.broken++; d.broken > mostMended {
			reply, err := d.giveUp(ctx, locale.Text(d.req.Locale, "turn.bad_call", "reason", p.reason()))
			return reply, true, err
		}
	}
	for i, call := range answer.Calls {
		if results[i] == "" {
			results[i] = problems(p.wrong)
		}
		d.messages = append(d.messages, llm.Message{Role: llm.ToolRole, CallID: call.ID, Content: results[i]})
	}
	return Reply{}, false, nil
}

func (d *dialog) searched(ctx context.Context, raw json.RawMessage) (string, error) {
	if d.searches++; d.searches > mostSearches {
		return failed("", "enough was searched: call another tool, or answer the person in text"), nil
	}
	return d.search(ctx, raw)
}

// failed is a tool result that says what is wrong.
func failed(where, what string) string {
	return problems([]fault.Field{{Loc: []any{where}, Msg: what, Type: "error"}})
}

// problems is a tool result that lists everything that is wrong.
func problems(wrong []fault.Field) string {
	type line struct {
		Where string `json:"where,omitempty"`
		What  string `json:"what"`
	}
	out := struct {
		Error    string `json:"error"`
		Problems []line `json:"problems"`
	}{Error: "nothing was proposed: mend this and call again"}
	for _, f := range wrong {
		out.Problems = append(out.Problems, line{Where: place(f.Loc), What: f.Msg})
	}
	text, err := json.Marshal(out)
	if err != nil {
		return `{"error":"nothing was proposed"}`
	}
	return string(text)
}

func place(loc []any) string {
	var parts []string
	for _, l := range loc {
		if s := fmt.Sprint(l); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ".")
}
