package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"piloto/internal/chats/agent"
	"piloto/internal/chats/changes"
	"piloto/internal/chats/claim"
	"piloto/internal/chats/history"
	"piloto/internal/chats/job"
	"piloto/internal/chats/proposal"
	"piloto/internal/chats/reads"
	"piloto/internal/chats/setup"
	"piloto/internal/chats/toolcall"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/tools/tool"
)

// Bounds of one turn with the model.
const (
	maxRounds   = 10       // model calls
	maxSearches = 4        // searches of the catalogue
	maxText     = 64 << 10 // bytes of an answer
)

// turnData holds the data that a conversation needs for its answer.
type turnData struct {
	past    history.Past
	watched bool // a client has the page open
	project conversation.Project
	listed  []tool.Listed
	rules   rule.Set
}

// dialog is the strategy of a turn in which a model converses, and may propose plans.
type dialog struct {
	exchange
	service *Service
	turnData
	incoming   conversation.Message   // the user's message
	held       conversation.Answering // lease; the sweep notifies the chat from it when this process dies in the delay
	persona    string
	agent      actor
	verdict    verdict
	corrected  int       // answers that were written anew because of a verdict
	pending    *plan.Run // the draft that waits, when the model may change it
	reading    *reads.Set
	files      changes.Work
	job        *job.Job                                 // whose round this is; nil: a turn
	runID      string                                   // of the plan that a round proposes
	round      int                                      // its number
	saveNext   func(context.Context, job.Changes) error // of the job, before its plan
	results    []string                                 // of the calls beside the one that proposed changes of files
	question   *inquiry                                 // that is asked
	left       []job.OpenCall                           // that a round leaves to its client
	concludes  bool                                     // the model tells what comes of the plan of this turn
	searches   int
	unproposed locale.Phrase          // why the last proposal became no plan
	doubted    string                 // a text that the record did not bear out: the model was asked once more, and it stands where nothing takes its place
	final      bool                   // no call of the model follows
	words      []string               // texts of the model beside its calls
	ending     ending                 // how the answer ends, when it is no success
	done       []claim.Call           // acts in no run: a withdrawal of this turn, what the client of a job did
	commands   []claim.Command        // that the client of a job ran
	reported   []string               // what it read
	withdrawn  []conversation.Message // that say which draft the turn took back
	denials    denials
}

func (s *Service) dialog(req Request, chat conversation.Chat) *dialog {
	return &dialog{exchange: s.exchange(req, chat), service: s}
}

func (d *dialog) state() *exchange { return &d.exchange }

// by returns the model that answers.
func (d *dialog) by() *conversation.By { return writtenBy(&d.exchange) }

// settle settles the calls of the turn beside the write of its answer, because nothing more is used.
func (d *dialog) settle(ctx context.Context, reply Reply) {
	d.service.settle(ctx, d.calls, d.count, reply, nil)
}

// loaders implements strategy.
func (d *dialog) loaders(ctx context.Context, message conversation.Message) []func() error {
	d.incoming = message
	chat := d.chat // a copy: the parallel store of the message does not change the fields read here
	return []func() error{
		func() (err error) { d.past, err = d.service.history().Load(ctx, d.req.history(chat, message)); return },
		func() error { d.watched = d.service.Tell.Watched(ctx, d.req.Principal.Account); return nil },
	}
}

// equip implements strategy.
func (d *dialog) equip(ctx context.Context, set setup.Setup) (err error) {
	if d.agent.Name == "" { // neither a job nor the router chose it
		if d.agent, err = actorOf(d.chat, set.Agent); err != nil {
			return err
		}
	}
	d.project, d.rules, set.Servers = set.Project, set.Rules, d.agent.servers(set.Servers)
	d.concludes = set.AI.Concludes(d.chat.ProjectID, eligibility.Conclusion(d.chat.Conclude))
	d.openFiles(ctx, set.Project)
	d.listed, err = d.service.loadCatalogue(ctx, d.req.Principal.Account, set)
	return err
}

// prepare implements strategy.
func (d *dialog) prepare(snapshot eligibility.Snapshot) error {
	if snapshot.Assistant != nil {
		d.persona = snapshot.Assistant.Persona
	}
	if d.req.Route != nil {
		d.persona = d.req.customerPersona()
	}
	d.pending = d.editableDraft()
	d.query.tools = append(d.agent.tools(turnTools(offer{d.listed, d.pending != nil, d.req.Route == nil}), d.job == nil), slices.Concat(d.clientTools(), d.fileTools())...)
	d.reading = d.newReads()
	always, err := d.prompt()
	if err != nil {
		return err
	}
	now, err := d.now()
	before, message := d.past.Texts[:len(d.past.Texts)-1], d.past.Texts[len(d.past.Texts)-1]
	begin := []llm.Message{{Role: llm.System, Content: always}}
	if d.past.Summary.Text != "" {
		text := locale.Text(d.req.Locale, "prompt.summary") + "\n<summary>\n" + escapeTags(d.past.Summary.Text) + "\n</summary>"
		begin = append(begin, llm.Message{Role: llm.System, Content: text})
	}
	d.query.messages = slices.Concat(begin, before, []llm.Message{{Role: llm.System, Content: now}, message})
	d.query.answered = len(d.query.messages) - 1
	return err
}

// converse calls the model until it returns a text or a draft. asking bounds the model calls.
func (d *dialog) converse(ctx, asking context.Context) (reply Reply, err error) {
	defer func() { reply.Before = append(d.withdrawn, reply.Before...) }()
	asking, d.query.writing = d.service.startStream(asking, d.req.Principal.Account, d.chat, d.calls.Turn.ID, d.began)
	d.query.writing.shown = d.watched
	defer d.query.writing.end(ctx)
	defer d.summarise(asking)()
	d.tellGone(ctx)
	asking, cancel := d.within(asking)
	defer cancel()
	d.query.closes = mayLook(d.listed)
	for n := range d.agent.rounds() {
		d.final = n+1 == d.agent.rounds()
		round, cancel := d.roundTime(asking)
		answer, err := d.query.ask(round, d.calls)
		cancel()
		if err != nil {
			return d.handleFailure(ctx, asking, round, answer, err)
		}
		if len(answer.Calls) == 0 && d.files.Waits() { // it is done: what it changed is proposed
			answer.Calls = d.applyAll()
		}
		if len(answer.Calls) == 0 {
			if answer.Text = cmp.Or(strings.TrimSpace(answer.Text), d.doubted); answer.Text == "" && len(d.words) == 0 {
				return d.close(ctx, asking, conversation.StopModel)
			}
			if d.corrects(asking, answer.Text) {
				continue
			}
			if d.ending = (ending{}); answer.Cut || d.verdict.partial() {
				d.ending.status = conversation.Partial
			}
			reply, again, err := d.handleText(ctx, answer.Text)
			if !again {
				return reply, err
			}
			continue
		}
		d.query.closes = true
		looking, cancel := d.beforeClosing(asking)
		reply, over, err := d.handleCalls(ctx, looking, answer)
		cancel()
		if over || err != nil {
			return reply, err
		}
	}
	return d.close(ctx, asking, conversation.StopSteps)
}

// handleFailure returns the reply of a turn whose model call, which round bounds, gave no answer: the user stopped it, it
// ends early, it is blocked, or an internal error occurred.
func (d *dialog) handleFailure(ctx, asking, round context.Context, answer llm.Reply, err error) (Reply, error) {
	ctx = context.WithoutCancel(ctx)
	if errors.Is(context.Cause(asking), errStopped) {
		return d.stopped(ctx, answer.Text)
	}
	stop := stopOf(round, err)
	switch {
	case stop == conversation.StopContext, stop != "" && d.hasRead(), errors.Is(context.Cause(round), errAgentTime):
		d.service.Log.WarnContext(ctx, "turn.closed", "chat_id", d.chat.ID, "stop_reason", stop, "error", err)
		return d.close(ctx, asking, stop)
	case len(d.words) == 0 && d.doubted == "":
		return d.service.blockedReply(ctx, &d.exchange, err)
	}
	d.service.Log.WarnContext(ctx, "turn.not_asked_again", "chat_id", d.chat.ID, "error", err)
	d.ending = ending{conversation.Partial, cmp.Or(stop, conversation.StopModel)}
	return d.storeText(ctx, d.by(), d.fullText(d.doubted)) // the partial text is no answer; the earlier texts stay
}

// stopped returns the reply of a turn that a person stopped: the text so far, if there is one.
func (d *dialog) stopped(ctx context.Context, soFar string) (Reply, error) {
	by, text := d.by(), d.fullText(cmp.Or(soFar, d.doubted))
	by.Stopped = true
	d.ending = ending{conversation.Partial, conversation.StopPerson}
	if text != "" {
		return d.storeText(ctx, by, text)
	}
	if !d.hasRead() {
		d.ending.status = conversation.Failed
	}
	return d.service.thread().text(ctx, d.req, d.chat, conversation.KindNotice, locale.Say("turn.stopped"), told{by: by, notes: d.deniedNotes(), sources: d.sources, readFrom: d.dataFrom(), ending: d.ending})
}

// storeText stores a text of the model as the answer, with the notes under it.
func (d *dialog) storeText(ctx context.Context, by *conversation.By, text string) (Reply, error) {
	notes, err := d.checker().notes(ctx, claim.Read(text))
	if err != nil {
		return Reply{}, err
	}
	return d.service.thread().text(ctx, d.req, d.chat, conversation.KindText, locale.Verbatim(shorten(text)), told{by: by, notes: append(notes, d.deniedNotes()...), sources: d.sources, readFrom: d.dataFrom(), ending: d.ending})
}

// finish stores a text of this turn's model, or about it, as the answer. It settles the turn's
// hold at the same time, because nothing more is used.
func (d *dialog) finish(ctx context.Context, kind conversation.Kind, text locale.Phrase, notes ...conversation.Note) (reply Reply, err error) {
	by := d.by()
	notes = slices.Concat(notes, d.deniedNotes(), d.partialNote(), d.costNote(d.calls.Turn.Micros+d.calls.Beside))
	var writes sync.WaitGroup // the hold is settled although the answer is not stored
	writes.Go(func() {
		reply, err = d.service.thread().text(ctx, d.req, d.chat, kind, text, told{by, notes, d.sources, d.dataFrom(), d.ending, d.failed(), d.question})
	})
	writes.Go(func() { d.settle(ctx, Reply{Kind: replyOf(kind), By: by}) })
	writes.Wait()
	return reply, err
}

// handleText handles an answer in text. When reconsiders reports it, the model is asked once more, and may say the same
// again: one text is shown. A note stands where the record contradicts it.
func (d *dialog) handleText(ctx context.Context, text string) (Reply, bool, error) {
	if d.reconsiders(ctx, text) {
		d.service.Log.WarnContext(ctx, "turn.pretends", "chat_id", d.chat.ID)
		d.doubted = text
		d.query.messages = append(d.query.messages,
			llm.Message{Role: llm.Assistant, Content: text},
			llm.Message{Role: llm.System, Content: locale.Text(d.req.Locale, "prompt.reconsider")})
		return Reply{}, true, nil
	}
	whole := d.fullText(text)
	notes, err := d.checker().notes(ctx, claim.Read(whole))
	if err != nil {
		return Reply{}, false, err
	}
	reply, err := d.finish(ctx, conversation.KindText, locale.Verbatim(shorten(whole)), notes...)
	return reply, false, err
}

// shorten cuts an answer to maxText bytes, because a message is one item of the table.
func shorten(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

// handleCalls handles an answer with tool calls. Proposals become a draft. Every other call gets
// a tool result for the model. It reports whether the turn is over.
func (d *dialog) handleCalls(ctx, asking context.Context, answer llm.Reply) (Reply, bool, error) {
	d.keep(answer.Text)
	d.query.messages = append(d.query.messages, llm.Message{Role: llm.Assistant, Content: answer.Text, Calls: answer.Calls})
	var b batch
	p := &b.proposals
	p.Early = d.dryRun()
	results := make([]string, len(answer.Calls))
	for i, call := range answer.Calls {
		results[i] = d.handleCall(ctx, answer.Cut, call, toolCall{at: i, name: call.Name, batch: &b})
	}
	d.read(asking, b.reads, results, p)
	d.leaveToClient(&b, results)
	d.useFiles(asking, &b, results)
	d.withdraw(ctx, &b, results)
	if b.apply != nil {
		reply, result, err := d.applyChanges(ctx, &b)
		if err != nil || result == "" {
			d.results = results
			return reply, true, err
		}
		results[b.apply.at] = result
	}
	if b.question != nil {
		if d.job == nil {
			reply, err := d.askInTurn(ctx, b.question)
			return reply, true, err
		}
		if d.question = b.question; p.Any() {
			p.Early = toolcall.Error("", "nothing was proposed: you asked the person in the same reply; propose again when you have their answer")
		}
	}
	if p.Ready() { // a plan without one of its steps would be a different plan
		reply, wrong, err := d.handleProposals(ctx, p)
		if err != nil || len(wrong) == 0 {
			return reply, true, err
		}
		p.Reject(wrong)
	}
	if p.Failed() {
		d.unproposed = p.Reason()
	}
	for i, call := range answer.Calls {
		if results[i] == "" && !d.isLeft(i) {
			results[i] = cmp.Or(p.Early, toolcall.Errors(p.Wrong))
		}
		d.query.messages = append(d.query.messages, llm.Message{Role: llm.ToolRole, CallID: call.ID, Content: results[i]})
	}
	return Reply{}, false, nil
}

// handleCall answers one call of a reply; "" when it is answered together with the others. A reply that was cut is refused
// whole: its last call may be incomplete, and others may be missing. A panic is a result and one log line.
func (d *dialog) handleCall(ctx context.Context, cut bool, call llm.Call, c toolCall) (result string) {
	var spec *toolSpec
	defer func() {
		if cause := recover(); cause != nil {
			result = d.panicked(ctx, c, spec, cause)
		}
	}()
	spec = d.specOf(c.name)
	var err error
	c.raw, err = toolcall.Arguments(call.Arguments)
	why := ""
	switch {
	case cut:
		why = "nothing was called: your reply was cut; call again, with less in one reply"
	case spec == nil || !d.offers(c.name):
		why = fmt.Sprintf("there is no tool %q; there are %s", c.name, toolNames(d.query.tools))
	case err != nil:
		c.batch.proposals.Refused = err.Error()
		return toolcall.Errors([]fault.Field{{Msg: err.Error()}})
	default:
		if result, err = spec.do(ctx, d, c); err == nil {
			return result
		}
		if why = d.unread(ctx, err); spec.class == classLook {
			return toolcall.Error("", why)
		}
	}
	c.batch.proposals.Refused = why
	return toolcall.Error("", why)
}

// offers reports whether the turn has a tool.
func (d *dialog) offers(name string) bool {
	return slices.ContainsFunc(d.query.tools, func(t llm.Tool) bool { return t.Name == name })
}

// specOf returns the tool with a name; nil when there is none.
func (d *dialog) specOf(name string) *toolSpec {
	if spec := specOf(name); spec != nil {
		return spec
	}
	if spec := d.clientSpec(name); spec != nil {
		return spec
	}
	return d.fileSpec(name)
}

// panicked returns the result of a call that panicked. spec is nil when the tool is unknown, or was not found out before.
func (d *dialog) panicked(ctx context.Context, c toolCall, spec *toolSpec, cause any) string {
	d.service.Log.ErrorContext(ctx, "turn.tool_panicked", "tool", c.name, "error", cause)
	const why = "internal error: this cannot be done now"
	if spec == nil || spec.class != classLook {
		c.batch.proposals.Refused = why // a plan without one of its steps would be a different plan
	}
	return toolcall.Error("", why)
}

// unread tells the model that the store cannot be read now.
func (d *dialog) unread(ctx context.Context, err error) string {
	d.service.Log.ErrorContext(ctx, "turn.unread", "chat_id", d.chat.ID, "error", err)
	return "this cannot be read now: go on without it, or call again later"
}

// read makes the reads of a reply. Those that need a confirmation become proposals, unless something was read: the
// model then proposes again, because it wrote its proposals before it had read that.
func (d *dialog) read(ctx context.Context, list []reads.Asked, results []string, p *proposal.Batch) {
	if len(list) == 0 {
		return
	}
	propose := d.reading.Make(ctx, list, results)
	d.sources = d.reading.Sources()
	if !d.agent.MayUse(toolRequest) {
		for _, a := range propose {
			results[a.At] = toolcall.Error("", "this read needs the person's confirmation, and this agent proposes nothing")
		}
		return
	}
	if len(propose) < len(list) {
		for _, a := range propose {
			results[a.At] = toolcall.Error("", "this read needs the person's confirmation: propose it with mcp_request")
		}
		if p.Any() {
			p.Early = toolcall.Error("", "nothing was proposed: you proposed before you read the answers of this reply; propose again")
		}
		return
	}
	for _, a := range propose {
		p.AddCall(a.Call)
	}
}

// newReads returns the reads of this turn, with what is known when it begins.
func (d *dialog) newReads() *reads.Set {
	from := d.past.ReadFrom
	for _, r := range d.past.Runs { // what runs came to is in the prompt, and so is the text of answers whose reads are not
		from = slices.Concat(from, r.DataFrom())
	}
	return reads.NewSet(reads.Turn{
		Reader: d.service.Reads, Drafter: d.drafter(), Log: d.service.Log, Stopped: errStopped, Denied: d.noteDeniedRead,
		For:  plan.Bound{Account: d.req.Principal.Account, ProjectID: d.chat.ProjectID, TraceID: d.req.TraceID, Key: d.incoming.ID},
		Most: reads.Most, AskAll: d.agent.Mode == agent.ConfirmAll, Zones: reads.Zones(d.listed, from), Before: d.past.Reads,
	})
}

// limitedSearch answers at most maxSearches search_tools calls of a turn.
func (d *dialog) limitedSearch(ctx context.Context, raw json.RawMessage) (string, error) {
	if d.searches++; d.searches > maxSearches {
		return toolcall.Error("", "enough was searched: call another tool, or answer the person in text"), nil
	}
	return d.search(ctx, raw)
}
