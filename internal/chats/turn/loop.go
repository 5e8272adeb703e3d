package turn

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"piloto/internal/chats/agent"
	"piloto/internal/chats/ask"
	"piloto/internal/chats/changes"
	"piloto/internal/chats/claim"
	"piloto/internal/chats/history"
	"piloto/internal/chats/job"
	"piloto/internal/chats/reads"
	"piloto/internal/chats/setup"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/models/paid"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/tools/tool"
)

// loop is one agent's work on an answer: its prompt, its tools, its reads, its change set, and its proposals. next makes
// one step of it. A turn makes steps until one is its answer; a job makes one in each round. The loop does not know its
// caller: terms are its permissions, and journal keeps its results.
type loop struct {
	exchange
	service *Service
	terms   terms
	journal journal

	past      history.Past
	project   conversation.Project
	listed    []tool.Listed
	rules     rule.Set
	incoming  conversation.Message // the user's message
	persona   string
	agent     actor
	pending   *plan.Run // the draft that waits, when the model may change it
	concludes bool      // the model describes the outcome of its plan

	trail trail // of this answer
	left  int   // replies with calls that may follow the present one

	reading  *reads.Set
	files    changes.Work
	searches int

	runID      string        // of the plan that it proposes; "": a new one
	unproposed locale.Phrase // why the last proposal became no plan
	doubted    string        // a text that the record did not bear out: the model was asked once more, and the text stands if no other follows
	final      bool          // no call of the model follows
	words      words
	done       []claim.Call           // acts in no run: a withdrawal of this turn, acts of the client of a job
	commands   []claim.Command        // that the client of a job ran
	reported   []string               // answers of the client of a job that changed nothing
	withdrawn  []conversation.Message // that say which draft was taken back
}

// terms are the permissions of a loop, and for whom it works.
type terms struct {
	jobID     string          // of the job whose plans are results of its calls; "": none
	dryRun    bool            // nothing is proposed
	revises   bool            // it may change the draft that waits
	asks      bool            // it may ask the person, even if the list of the agent lacks that: a question ends it
	parts     bool            // it may propose some of its changes of files, because it goes on with the others
	long      bool            // it takes many steps: it reads as many files as it likes, and may make the first one
	workspace string          // the client's description of its machine
	client    []job.Tool      // that the client carries out
	changes   job.Changes     // of files, that are there when it begins
	viewer    string          // the person who sees its proposals; "": nobody waits for it
	below     []locale.Phrase // lines about that below a proposed plan
}

// journal keeps the results of a loop: a turn in memory, a job in its rows. Reads that are made at the same time may use it.
type journal interface {
	// ask returns the next answer of the model. One that was kept, and that nothing followed, is returned without a call.
	ask(ctx context.Context) (llm.Reply, error)
	// bound bounds the time of an answer's calls. The caller must call the function.
	bound(ctx context.Context) (context.Context, context.CancelFunc)
	// wasProposed reports whether the plan of the answer is there: an earlier attempt died after it proposed it.
	wasProposed(ctx context.Context) (bool, error)
	// proposing keeps the changes of files as of the plan that applies them, before that is stored.
	proposing(ctx context.Context, next job.Changes) error
	// note keeps a note for the message with which the work ends, and cardNotes returns those that a card has already.
	note(n conversation.Note)
	cardNotes() []conversation.Note
	// deny puts a call that a rule denied on record.
	deny(call plan.Step)
}

// stepKind is the kind of a step's result.
type stepKind int

// The kinds of step. Of a plan and of a question nothing follows until a person answers.
const (
	stepCalled  stepKind = iota // its calls are answered: the model goes on
	stepSilent                  // the answer has neither a call nor a text
	stepDoubted                 // the text pretends: the prompt says so, and the model goes on
	stepSaid                    // the text is the answer
	stepPlanned                 // a plan waits
	stepMoved                   // the draft that it changed is not as it was
)

// step is the result of one answer of the model.
type step struct {
	kind     stepKind
	answer   llm.Reply
	results  []string // of the calls; "" of one that somebody else answers
	reply    Reply    // with the card of the plan
	question *inquiry
	open     []job.OpenCall // that the client answers
}

// isLeft reports whether somebody else answers a call: the person, or the client.
func (s step) isLeft(at int) bool {
	return s.question != nil && s.question.at == at || slices.ContainsFunc(s.open, func(c job.OpenCall) bool { return indexOf(c) == at })
}

// goal returns that of the plan that waits; "": an earlier attempt proposed it.
func (s step) goal() string {
	if s.reply.Run == nil {
		return ""
	}
	return s.reply.Run.Plan.Goal
}

// by returns the model that answers.
func (l *loop) by() *conversation.By { return writtenBy(&l.exchange) }

// equip takes the account's settings.
func (l *loop) equip(ctx context.Context, set setup.Setup) (err error) {
	if l.agent.Name == "" { // neither a job nor the router chose it
		if l.agent, err = actorOf(l.chat, set.Agent); err != nil {
			return err
		}
	}
	l.project, l.rules, set.Servers = set.Project, set.Rules, l.agent.servers(set.Servers)
	l.concludes = set.AI.Concludes(l.chat.ProjectID, eligibility.Conclusion(l.chat.Conclude))
	l.openFiles(ctx)
	l.listed, err = l.service.loadCatalogue(ctx, l.req.Principal.Account, set)
	return err
}

// prepare writes the prompt.
func (l *loop) prepare(snapshot eligibility.Snapshot) error {
	if snapshot.Assistant != nil {
		l.persona = snapshot.Assistant.Persona
	}
	if l.req.Route != nil {
		l.persona = l.req.customerPersona()
	}
	l.pending = l.editableDraft()
	l.query.Tools = append(l.agent.tools(turnTools(offer{l.listed, l.terms.revises, l.req.Route == nil}), l.terms.asks),
		slices.Concat(l.terms.clientTools(l.agent), l.fileTools())...)
	if l.files.Tree.Guide != "" { // the prompt has data of a file
		l.past.ReadFrom = union(l.past.ReadFrom, []string{tool.FilesID})
	}
	l.reading = l.newReads()
	always, err := l.prompt()
	if err != nil {
		return err
	}
	if l.trail.now == "" { // a job keeps that of its first round
		if l.trail.now, err = l.now(snapshot.Assistant); err != nil {
			return err
		}
	}
	begin := []llm.Message{{Role: llm.System, Content: always}}
	if l.past.Summary.Text != "" {
		text := locale.ModelText("prompt.summary") + "\n<summary>\n" + llm.Escape(l.past.Summary.Text) + "\n</summary>"
		begin = append(begin, llm.Message{Role: llm.System, Content: text})
	}
	before, message := l.past.Texts[:len(l.past.Texts)-1], l.past.Texts[len(l.past.Texts)-1]
	l.query.Messages = slices.Concat(begin, before, []llm.Message{{Role: llm.System, Content: l.trail.now}, message})
	l.query.Answered = len(l.query.Messages) - 1
	return nil
}

// next makes one step: it asks the model, and makes the calls of its answer. asking bounds the call of the model and the
// reads. Changes of files that wait are proposed when the model is done.
func (l *loop) next(ctx, asking context.Context) (step, error) {
	answer, err := l.journal.ask(asking)
	if err != nil {
		return step{answer: answer}, err
	}
	if len(answer.Calls) == 0 && l.files.Waits() {
		answer.Calls = llm.Distinct([]llm.Call{{Name: tool.ApplyChanges, Arguments: "{}"}}, l.query.Messages)
	}
	if len(answer.Calls) > 0 {
		return l.answerCalls(ctx, asking, answer)
	}
	answer.Text = cmp.Or(strings.TrimSpace(answer.Text), l.doubted)
	switch {
	case answer.Text == "" && len(l.words.list) == 0:
		return step{kind: stepSilent, answer: answer}, nil
	case l.reconsiders(ctx, answer.Text):
		l.service.Log.WarnContext(ctx, "turn.pretends", "chat_id", l.chat.ID)
		l.doubted = answer.Text
		l.query.Messages = append(l.query.Messages,
			answer.Message(),
			llm.Message{Role: llm.System, Content: locale.ModelText("prompt.reconsider")})
		return step{kind: stepDoubted, answer: answer}, nil
	}
	return step{kind: stepSaid, answer: answer}, nil
}

// dataFrom returns the ids of the servers whose data the prompt has by now, of reads and of runs.
func (l *loop) dataFrom() []string {
	list := l.past.ReadFrom
	for _, r := range l.past.Runs {
		list = union(list, r.DataFrom())
	}
	return union(list, l.reading.From())
}

// newReads returns the reads of this turn, with the zones that are known when it begins.
func (l *loop) newReads() *reads.Set {
	from := l.past.ReadFrom
	for _, r := range l.past.Runs { // the outcomes of runs are in the prompt, and so is the text of answers whose reads are not
		from = slices.Concat(from, r.DataFrom())
	}
	return reads.NewSet(reads.Turn{
		Reader: l.service.Reads, Drafter: l.drafter(), Log: l.service.Log, Stopped: ask.ErrStopped, Denied: l.denied().read,
		For:  plan.Bound{Account: l.req.Principal.Account, ProjectID: l.chat.ProjectID, TraceID: l.req.TraceID, Key: l.incoming.ID},
		Most: reads.Most, AskAll: l.agent.Mode == agent.ConfirmAll, Zones: reads.Zones(l.listed, from), Before: l.past.Reads, Room: func() int { return readRoom(l.calls) },
	})
}

// readShare is the part of a window that one answer of a service may take.
const readShare = 6

// readRoom returns the most characters of an answer of a service in the prompt.
func readRoom(calls *paid.Calls) int {
	tokens := reads.MostTokens
	if use := calls.Use; use != nil && use.Window > 0 {
		tokens = min(tokens, use.Window/readShare)
	}
	return int(float64(tokens) * calls.CharsPerToken())
}
