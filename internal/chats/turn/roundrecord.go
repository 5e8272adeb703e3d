package turn

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"piloto/internal/chats/claim"
	"piloto/internal/chats/job"
	"piloto/internal/chats/toolcall"
	"piloto/internal/chats/toolset"
	"piloto/internal/ground/lazy"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// noteCalls notes which calls of a round were to change something and were not made: of a tool that the agent does not have, of a
// tool of files or of the client that answers with an error, or a proposal that became no plan.
func (w *work) noteCalls(r *job.Round, s step) {
	denied := w.journal.denied // the rule's note names its plan
	w.journal.denied = false
	for i, c := range r.Calls {
		spec, arguments, wrong := w.loop.terms.spec(c.Name), argumentsOf(c), job.IsError(r.Results[i])
		switch {
		case s.isLeft(i):
		case w.lacksTool(c.Name):
			w.job.Record.Fail(c.Name, arguments, job.RefusedTool)
		case !w.loop.offers(c.Name) || spec.class != toolset.ClassWrite || c.Name == toolset.Withdraw:
		case toolset.OfServices(c.Name), c.Name == toolset.Apply:
			if goal := proposedGoal(c.Name, arguments); wrong && !denied && goal != "" && (toolset.OfServices(c.Name) || w.loop.files.Set != "") {
				w.job.Record.FailPlan(goal)
			}
		case wrong:
			w.job.Record.Fail(c.Name, arguments, job.RefusedFailed)
		default:
			w.job.Record.Done(c.Name, job.Targets(arguments)...)
		}
	}
}

// lacksTool reports whether a tool that would change something is not there.
func (w *work) lacksTool(name string) bool {
	spec := w.loop.terms.spec(name)
	return !w.loop.offers(name) && (spec == nil && !onlyReads(name) || spec != nil && spec.class == toolset.ClassWrite && spec.needs == nil)
}

// absent returns the calls of a round whose tool is not there, for who watches the job.
func (w *work) absent(r *job.Round) (list []job.Deed) {
	var record job.Record
	for _, c := range r.Calls {
		if w.lacksTool(c.Name) {
			record.Fail(c.Name, argumentsOf(c), job.RefusedTool)
		}
	}
	for _, f := range record.Refused {
		list = append(list, job.Deed{Kind: f.Kind, Name: f.What, Refused: f.Code})
	}
	return list
}

// objectsOf returns the calls of a round and the object of each, with the service that it names. The client's own have
// only their names, because an event of their own has the rest.
func (w *work) objectsOf(calls []job.Call) []string {
	objects := callNames(calls)
	for i, c := range calls {
		if w.loop.terms.clientSpec(c.Name) != nil || w.lacksTool(c.Name) {
			continue
		}
		arguments := argumentsOf(c)
		objects[i] = job.OpenCall{Name: c.Name, Arguments: arguments}.Object()
		var with struct {
			MCPID string `json:"mcp_id"`
		}
		_ = json.Unmarshal([]byte(arguments), &with) // arguments that are not JSON name no service
		if at := slices.IndexFunc(w.loop.listed, func(l tool.Listed) bool { return l.Server.ID == with.MCPID }); at >= 0 {
			objects[i] += " (" + toolcall.OneLine(w.loop.listed[at].Server.Name) + ")"
		}
	}
	return objects
}

// argumentsOf returns the arguments of a call as an object, if they are one.
func argumentsOf(c job.Call) string {
	if object, err := toolcall.Arguments(c.Arguments); err == nil {
		return string(object)
	}
	return c.Arguments
}

// proposedGoal returns the proposal of a call, in a line: its goal, or its request. It is "" of one that only reads.
func proposedGoal(tool, arguments string) string {
	var with struct{ Goal, Method, Path, Tool string }
	_ = json.Unmarshal([]byte(arguments), &with) // arguments that are not JSON have its tool only
	switch {
	case tool != toolset.Request:
		return cmp.Or(toolcall.OneLine(with.Goal), tool)
	case with.Tool == "" && plan.RiskOf(with.Method) == plan.Read:
		return ""
	}
	return cmp.Or(toolcall.OneLine(with.Tool), toolcall.OneLine(with.Method+" "+with.Path), tool)
}

// proposed notes that the round proposed a plan.
func (w *work) proposed() {
	w.rows.takeNextChanges()
	w.job.Record.Proposed()
}

// onlyReads reports whether the name of a tool that is not there says that it would have changed nothing: list_files, readFile.
func onlyReads(tool string) bool {
	words := strings.Fields(strings.ToLower(strings.Join(inName().FindAllString(tool, -1), " ")))
	return len(words) > 0 && readVerbs()[words[0]] && !slices.ContainsFunc(words, func(w string) bool { return changeVerbs()[w] })
}

var (
	inName      = lazy.Pattern(`[A-Z]?[a-z]+`)
	readVerbs   = lazy.Words(`read list ls get search find look view show grep rg cat glob fetch head tail stat tree inspect describe count browse think todo`)
	changeVerbs = lazy.Words(`write edit replace update delete remove create set send run exec execute move save apply make and`)
)

// countRefusal counts a plan of the job that a person refused, or that a model took back in answer to one: they declined it in their own
// words. One that they confirmed begins the count anew; one that expired or was replaced was neither refused nor confirmed.
func (w *work) countRefusal(r plan.Run) {
	switch {
	case r.Refused(), r.Withdrawn != nil:
		w.job.Refused++
		w.job.Record.RefusePlan(r.Plan.Goal)
	case r.Confirmer != "":
		w.job.Refused = 0
		w.job.Record.Ran(r.Plan.Goal, r.Status, plan.MayHaveChanged(r))
	}
}

// addDone adds the deeds of a call at the client to the facts with which the model's texts are compared. A refusal is no
// act, and neither is a read. A client that reports no deeds is believed, unless it answered with an error.
func (w *work) addDone(r job.Round, k int) {
	call := r.Calls[k]
	act := claim.Call{Method: "POST", Tool: call.Name, Sent: call.Arguments, Answered: r.Results[k]}
	if r.Did == nil {
		if !job.IsError(act.Answered) {
			w.loop.done = append(w.loop.done, act)
		}
		return
	}
	changed := false
	for _, d := range r.Did[k] {
		switch {
		case d.Refused != "" || d.Failed || d.Kind == job.DeedRead:
		case d.Kind == job.DeedCommand:
			w.loop.commands = append(w.loop.commands, claim.Command{Line: d.Name, Code: d.ExitCode, Safe: d.Safe})
		case !changed:
			changed = true
			w.loop.done = append(w.loop.done, act)
		}
	}
	if !changed {
		w.loop.reported = append(w.loop.reported, act.Answered)
	}
}
