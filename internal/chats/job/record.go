package job

import (
	"cmp"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"piloto/internal/chats/claim"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/command"
	"piloto/internal/runs/plan"
)

// The record of a job has its deeds, independent of its model's text: each call's client reports its deeds beside the
// text for the model, and they are added as they come. So the record is there when the client is gone, and wherever the
// job is watched.

// DeedKind is the kind of a deed.
type DeedKind string

// The kinds of deeds.
const (
	DeedRead    DeedKind = "read"
	DeedChange  DeedKind = "change"  // of a file
	DeedCommand DeedKind = "command" // that ended, with any exit code
	DeedPlan    DeedKind = "plan"    // only of a Refusal
	DeedCall    DeedKind = "call"    // only of a Refusal: its tool, and its object
)

// Refused is why something was not done though it could be.
type Refused string

// The reasons.
const (
	RefusedNobody     Refused = "nobody"     // it asks, and nobody was there
	RefusedPerson     Refused = "person"     // they said no
	RefusedUnanswered Refused = "unanswered" // they did not answer
	RefusedPolicy     Refused = "policy"     // the configuration does not allow it
	RefusedHidden     Refused = "hidden"     // the file may hold secrets
	RefusedGit        Refused = "git"        // git would obey the file, and may run it
	RefusedOwn        Refused = "own"        // the file is Piloto's own
	RefusedOutside    Refused = "outside"    // the file is not below the workspace
	RefusedUnshown    Refused = "unshown"    // it asks, and cannot be shown
	RefusedMasked     Refused = "masked"     // it would write the mask of a secret over the secret
	RefusedStopped    Refused = "stopped"    // the job was stopped meanwhile
	RefusedTool       Refused = "tool"       // the job has no such tool
	RefusedFailed     Refused = "failed"     // it was not refused: it could not be done. Only of a Refusal
	RefusedUnfinished Refused = "unfinished" // only a part of a plan was done. Only of a Refusal
)

var refusals = []Refused{
	RefusedNobody, RefusedPerson, RefusedUnanswered, RefusedPolicy, RefusedHidden, RefusedGit, RefusedOwn, RefusedOutside, RefusedUnshown, RefusedMasked,
	RefusedStopped, RefusedTool,
}

// Deed is one thing that a call of a client came to. Lines are those of a text; a change of a binary file has none.
type Deed struct {
	Kind    DeedKind `json:"kind" enum:"read,change,command"`
	Name    string   `json:"name" doc:"of the file, or the command line; at most 4 KB"`
	Refused Refused  `json:"refused,omitempty" enum:"nobody,person,unanswered,policy,hidden,git,own,outside,unshown,masked,stopped,tool" doc:"why it was not done"`
	Failed  bool     `json:"failed,omitempty" doc:"it could not be done"`
	Masked  int      `json:"masked,omitempty" doc:"secrets of files that the model was shown a mask for"`

	Added      int    `json:"added,omitempty" doc:"lines, by this change"`
	Removed    int    `json:"removed,omitempty"`
	AllAdded   int    `json:"all_added,omitempty" doc:"lines, since the job began"`
	AllRemoved int    `json:"all_removed,omitempty"`
	Made       bool   `json:"made,omitempty" doc:"the file was not there when the job began"`
	Deleted    bool   `json:"deleted,omitempty" doc:"the file is not there any more"`
	Before     string `json:"before,omitempty" doc:"the version of the file when the job began, SHA-256 in hexadecimal"`
	Same       bool   `json:"same,omitempty" doc:"the file is again as it was when the job began"`

	ExitCode int  `json:"exit_code,omitempty" doc:"of a command"`
	TimedOut bool `json:"timed_out,omitempty" doc:"the command was ended because its time was over"`
	Safe     bool `json:"safe,omitempty" doc:"the command is known to change nothing"`
}

// Bounds of deeds and of the record.
const (
	maxDeeds     = 100 // of a call
	maxDeedBytes = 32 << 10
	maxDeedName  = 4 << 10
	maxListed    = 1_000     // bytes of a name in the record
	maxTool      = 100       // bytes of the name of a tool there
	changesRoom  = 24 << 10  // bytes of all names of files
	commandsRoom = 16 << 10  // of all command lines
	refusedRoom  = 8 << 10   // of all that was refused, and of all that is unknown
	mostLines    = 1_000_000 // of a change
)

var version = regexp.MustCompile(`^[0-9a-f]{64}$`)

// wrong returns the member of a deed that is wrong, and how; "" when none is.
func (d Deed) wrong() (member, typ string) {
	bounded := func(n int) bool { return n >= 0 && n <= mostLines }
	switch {
	case d.Kind != DeedRead && d.Kind != DeedChange && d.Kind != DeedCommand:
		return "kind", "enum"
	case d.Name == "" || len(d.Name) > maxDeedName || !utf8.ValidString(d.Name) || strings.Contains(d.Name, "\x00"):
		return "name", "string_too_long"
	case d.Refused != "" && !slices.Contains(refusals, d.Refused):
		return "refused", "enum"
	case !bounded(d.Added) || !bounded(d.AllAdded):
		return "added", "out_of_range"
	case !bounded(d.Removed) || !bounded(d.AllRemoved):
		return "removed", "out_of_range"
	case d.Before != "" && !version.MatchString(d.Before):
		return "before", "string_pattern_mismatch"
	case !bounded(d.Masked):
		return "masked", "out_of_range"
	case d.ExitCode < math.MinInt32 || d.ExitCode > math.MaxUint32:
		return "exit_code", "out_of_range"
	}
	return "", ""
}

// checkDeeds returns every problem of the deeds of a call.
func checkDeeds(list []Deed, place ...any) (wrong []fault.Field) {
	at := func(more ...any) []any { return append(slices.Clone(place), more...) }
	if !DeedsFit(list) {
		return []fault.Field{{Loc: at("did"), Type: "too_long"}}
	}
	for i, d := range list {
		if member, typ := d.wrong(); member != "" {
			wrong = append(wrong, fault.Field{Loc: at("did", i, member), Type: typ})
		}
	}
	return wrong
}

// DeedsFit reports whether a call may have so many deeds.
func DeedsFit(list []Deed) bool { return len(list) <= maxDeeds && sizeOf(list) <= maxDeedBytes }

func sizeOf(list []Deed) int {
	raw, _ := json.Marshal(list) // it has strings, numbers and flags
	return len(raw)
}

// Record has the deeds of a job, its refusals, and the calls of unknown outcome. Lists are bounded: entries without room
// are counted, and each list has its first entry. It has no more than is known: the zero Record is a job that did
// nothing.
type Record struct {
	Changes  []ChangedFile `json:"changes,omitempty"`
	Commands []RanCommand  `json:"commands,omitempty"` // in their order
	Refused  []Refusal     `json:"refused,omitempty"`  // or failed, and not done since
	Unknown  []string      `json:"unknown,omitempty"`  // calls that were left to the client, which did not answer, and plans in doubt: they may be done
	Plans    int           `json:"plans,omitempty"`    // that changed something
	InDoubt  []string      `json:"in_doubt,omitempty"` // goals of plans of which nobody knows whether they were done
	Altered  bool          `json:"altered,omitempty"`  // a command may have changed something, and not only tests and builds
	More     int           `json:"more,omitempty"`     // that had no room

	TestsFail  bool `json:"tests_fail,omitempty"`  // the last command that tests, and whose exit code says how that ended, did not end well, listed or not
	BuildFails bool `json:"build_fails,omitempty"` // the last one that builds
}

// ChangedFile is the change of a file since the job began.
type ChangedFile struct {
	Name    string `json:"name"`
	Added   int    `json:"added" doc:"lines, since the job began"`
	Removed int    `json:"removed" doc:"lines, since the job began"`
	Made    bool   `json:"made,omitempty" doc:"it was not there when the job began"`
	Deleted bool   `json:"deleted,omitempty" doc:"it is not there any more"`
	Before  string `json:"before,omitempty" doc:"its version when the job began, SHA-256 in hexadecimal"`
}

// RanCommand is a command that ended.
type RanCommand struct {
	Command  string `json:"command" doc:"at most 1,000 bytes of it"`
	ExitCode int    `json:"exit_code"`
	TimedOut bool   `json:"timed_out,omitempty" doc:"it was ended because its time was over"`
	Safe     bool   `json:"safe,omitempty" doc:"it is known to change nothing"`
	Unproved bool   `json:"unproved,omitempty" doc:"it tests or builds, and how that ended is not in its exit code, which may be that of another program"`
}

// Refusal is an act that was refused or could not be done, and was not done since.
type Refusal struct {
	Kind DeedKind `json:"kind" enum:"read,change,command,plan,call"`
	What string   `json:"what" doc:"the file, the command line, the goal of the plan, or the tool of a call and what it is about"`
	Code Refused  `json:"code" enum:"nobody,person,unanswered,policy,hidden,git,own,outside,unshown,masked,stopped,tool,failed,unfinished" doc:"failed: it was not refused, and could not be done; unfinished: only a part of a plan was done"`
	Tool string   `json:"tool,omitempty" doc:"that was called"`

	Made    bool `json:"made,omitempty" doc:"it would have made the file"`
	Deleted bool `json:"deleted,omitempty" doc:"it would have deleted the file"`
}

// Acted reports whether something was changed for the job, or may have been.
func (r Record) Acted() bool {
	return len(r.Changes)+len(r.Unknown)+r.Plans > 0 || slices.ContainsFunc(r.Commands, func(c RanCommand) bool { return !c.Safe })
}

// Empty reports whether the record has no entry.
func (r Record) Empty() bool {
	return len(r.Changes)+len(r.Commands)+len(r.Refused)+len(r.Unknown) == 0
}

// Broken reports whether something was changed, or may have been by a command, and the last command that tests, or that
// builds, did not end well. To test and to build is no change: a job that only did that ends well, with any result.
func (r Record) Broken() bool {
	return (len(r.Changes)+r.Plans > 0 || r.Altered) && (r.TestsFail || r.BuildFails)
}

// Ended returns the status of a job that ends: it is partial if something was refused or could not be done, or if something was
// changed and then it failed, or its tests or its build did.
func (r Record) Ended(status Status) Status {
	switch {
	case status == Success && (len(r.Refused)+len(r.Unknown) > 0 || r.Broken()), status == Failed && (r.Acted() || r.Declined()):
		return Partial
	}
	return status
}

// Declined reports whether something was refused, and did not only fail.
func (r Record) Declined() bool {
	return slices.ContainsFunc(r.Refused, func(f Refusal) bool { return f.Code != RefusedFailed && f.Code != RefusedUnfinished })
}

// Add adds the deeds of a call of a tool. A refusal or failure of an act that is done now is removed.
func (r *Record) Add(tool string, deeds ...Deed) {
	for _, d := range deeds {
		name := listed(d.Name)
		if code := cmp.Or(d.Refused, failed(d)); code != "" {
			if d.Refused != "" || d.Kind != DeedRead {
				r.refuse(Refusal{d.Kind, name, code, tool, d.Made, d.Deleted})
			}
			continue
		}
		r.done(tool, actOf(d), d.Name)
		switch d.Kind {
		case DeedChange:
			r.change(ChangedFile{name, d.AllAdded, d.AllRemoved, d.Made, d.Deleted, d.Before}, d.Same || d.Made && d.Deleted)
		case DeedCommand:
			unproved := r.check(d)
			r.Altered = r.Altered || !d.Safe && claim.Command{Line: d.Name, Code: d.ExitCode}.Alters()
			if r.fits(commandsRoom, name, len(r.Commands), func(i int) string { return r.Commands[i].Command }) {
				r.Commands = append(r.Commands, RanCommand{name, d.ExitCode, d.TimedOut, d.Safe, unproved})
			}
		}
	}
}

func failed(d Deed) Refused {
	if d.Failed {
		return RefusedFailed
	}
	return ""
}

// Fail notes that a call that would have changed something was not made: a row for each thing that its arguments name. It failed, or
// there is no such tool.
func (r *Record) Fail(tool, arguments string, code Refused) {
	about := Targets(arguments)
	for _, name := range about {
		r.refuse(Refusal{Kind: DeedCall, What: listed(tool + " " + name), Code: code, Tool: tool})
	}
	if len(about) == 0 {
		r.refuse(Refusal{Kind: DeedCall, What: listed(tool), Code: code, Tool: tool})
	}
}

// Done notes that a call was made whose client does not report deeds.
func (r *Record) Done(tool string, targets ...string) {
	for _, name := range targets {
		r.done(tool, actOfTool(tool), name)
	}
	if len(targets) == 0 {
		r.done(tool, actOfTool(tool), "")
	}
}

// check notes whether the tests and the build of a command ended well. It returns whether nobody knows.
func (r *Record) check(d Deed) (unproved bool) {
	does := d.checks()
	note := func(of command.Verdict, fails *bool) {
		if of == command.Passed || of == command.Broken {
			*fails = of == command.Broken
		}
	}
	note(does.Tests, &r.TestsFail)
	note(does.Builds, &r.BuildFails)
	return does.Unproved()
}

// checks returns the results of its tests and its build by the exit code of a command. Those that had no time did not end well.
func (d Deed) checks() claim.Checks {
	does := claim.Command{Line: d.Name, Code: d.ExitCode}.Checks()
	for _, of := range []*command.Verdict{&does.Tests, &does.Builds} {
		if d.TimedOut && *of != command.Absent {
			*of = command.Broken
		}
	}
	return does
}

// change stores the change of a file. A file that is as it was did not change.
func (r *Record) change(c ChangedFile, same bool) {
	i := slices.IndexFunc(r.Changes, func(o ChangedFile) bool { return o.Name == c.Name })
	switch {
	case i < 0 && same:
	case i >= 0 && same:
		r.Changes = slices.Delete(slices.Clone(r.Changes), i, i+1)
	case i >= 0:
		r.Changes = slices.Clone(r.Changes)
		r.Changes[i] = c
	case r.fits(changesRoom, c.Name, len(r.Changes), func(i int) string { return r.Changes[i].Name }):
		r.Changes = append(r.Changes, c)
	}
}

// refuse notes a refusal, once.
func (r *Record) refuse(f Refusal) {
	if len(f.Tool) > maxTool { // nothing has such a name
		f.Tool = ""
	}
	if !slices.Contains(r.Refused, f) && r.fits(refusedRoom, f.What, len(r.Refused), func(i int) string { return r.Refused[i].What }) {
		r.Refused = append(r.Refused, f)
	}
}

// Deny notes that a rule of the account denied a call of a service, or a read of one.
func (r *Record) Deny(kind DeedKind, call string) {
	r.refuse(Refusal{Kind: kind, What: listed(call), Code: RefusedPolicy})
}

// FailPlan notes that a plan could not be proposed, or that none of it could be done.
func (r *Record) FailPlan(goal string) {
	r.refuse(Refusal{Kind: DeedPlan, What: listed(goal), Code: RefusedFailed})
}

// Proposed notes that a plan was proposed: it replaces proposals that became no plan.
func (r *Record) Proposed() {
	r.Refused = slices.DeleteFunc(slices.Clone(r.Refused), func(f Refusal) bool { return f.Kind == DeedPlan && f.Code == RefusedFailed })
}

// RefusePlan notes that a person refused a plan.
func (r *Record) RefusePlan(goal string) {
	r.refuse(Refusal{Kind: DeedPlan, What: listed(goal), Code: RefusedPerson})
}

// Ran notes a plan that a person confirmed, and that ended. When it was done, it replaces the plans that they refused
// before, and those of which nothing could be done. A plan of which only a part was done stays on record, even if a
// later one is done.
func (r *Record) Ran(goal string, status plan.Status, changed bool) {
	if status == plan.Done {
		r.Refused = slices.DeleteFunc(slices.Clone(r.Refused), func(f Refusal) bool { return f.Kind == DeedPlan && f.Code != RefusedUnfinished })
	}
	if changed {
		r.Plans++
	}
	switch {
	case status == plan.InDoubt && r.fits(refusedRoom, goal, len(r.InDoubt), func(i int) string { return r.InDoubt[i] }):
		r.InDoubt = append(r.InDoubt, listed(goal))
	case status == plan.Done, status == plan.InDoubt:
	case !changed:
		r.FailPlan(goal)
	default:
		r.refuse(Refusal{Kind: DeedPlan, What: listed(goal), Code: RefusedUnfinished})
	}
}

// fits reports whether a name has room in a list, and counts it when it has none.
func (r *Record) fits(room int, name string, n int, at func(i int) string) bool {
	for i := range n {
		room -= len(at(i)) + 100
	}
	if n == 0 || len(name)+100 <= room {
		return true
	}
	r.More++
	return false
}

// unknown returns the calls of unknown outcome that were left to the client: those that change something and were not answered.
func (j Job) unknown() (list []string) {
	for _, c := range j.OpenCalls() {
		writes := slices.ContainsFunc(j.Tools, func(t Tool) bool { return t.Name == c.Name && t.Writes })
		if writes && len(list) < maxDeeds {
			list = append(list, c.Object())
		}
	}
	return list
}

// Note adds the answers of the client to open calls to the record. A call without reported deeds failed if its answer is an error.
func (j *Job) Note(results ...ToolResult) {
	for _, t := range results {
		i := slices.IndexFunc(j.Open, func(c OpenCall) bool { return c.ID == t.ID })
		if i < 0 {
			continue
		}
		c := j.Open[i]
		switch writes := slices.ContainsFunc(j.Tools, func(of Tool) bool { return of.Name == c.Name && of.Writes }); {
		case t.Did != nil:
			j.Record.Add(c.Name, t.Did...)
		case writes && IsError(t.Output):
			j.Record.Fail(c.Name, c.Arguments, RefusedFailed)
		case writes:
			j.Record.Done(c.Name, Targets(c.Arguments)...)
		}
	}
}

// IsError reports whether the answer to a call says that it was not made.
func IsError(output string) bool { return strings.HasPrefix(output, `{"error"`) }

// CloseRecord adds, when the job ends, the calls and plans of unknown outcome: its client did not answer, or a service.
// Called again when more is known, it removes the lines about that from the last text of the job.
func (j *Job) CloseRecord() {
	before := j.Record.Unknown
	j.Record.Unknown = append(j.unknown(), j.Record.InDoubt...)
	lines := strings.Split(j.Output, "\n")
	for _, what := range before {
		line := locale.Text(locale.Tag(j.Locale), "job.record.unknown", "what", what)
		if i := slices.Index(lines, line); i >= 0 && !slices.Contains(j.Record.Unknown, what) {
			lines = slices.Delete(lines, i, i+1)
		}
	}
	j.Output = strings.Join(lines, "\n")
}
