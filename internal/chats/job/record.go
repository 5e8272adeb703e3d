package job

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/visible"
)

// The record of a job says what was done for it, whatever its model says: each call's client reports its deeds beside the
// text for the model, and they are added as they come. So the record is there when the client is gone, and wherever the
// job is watched.

// DeedKind is what kind of act a deed is.
type DeedKind string

// The kinds of deeds.
const (
	DeedRead    DeedKind = "read"
	DeedChange  DeedKind = "change"  // of a file
	DeedCommand DeedKind = "command" // that ended, whatever its exit code
	DeedPlan    DeedKind = "plan"    // only of a Refusal
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
	RefusedOutside    Refused = "outside"    // the file is not below the workspace
	RefusedUnshown    Refused = "unshown"    // it asks, and cannot be shown
	RefusedMasked     Refused = "masked"     // it would write the mask of a secret over the secret
	RefusedStopped    Refused = "stopped"    // the job was stopped meanwhile
)

var refusals = []Refused{
	RefusedNobody, RefusedPerson, RefusedUnanswered, RefusedPolicy, RefusedHidden, RefusedOutside, RefusedUnshown, RefusedMasked, RefusedStopped,
}

// Deed is one thing that a call of a client came to. Lines are those of a text; a change of a binary file has none.
type Deed struct {
	Kind    DeedKind `json:"kind" enum:"read,change,command"`
	Name    string   `json:"name" doc:"of the file, or the command line; at most 4 KB"`
	Refused Refused  `json:"refused,omitempty" enum:"nobody,person,unanswered,policy,hidden,outside,unshown,masked,stopped" doc:"why it was not done"`
	Failed  bool     `json:"failed,omitempty" doc:"it could not be done"`
	Masked  int      `json:"masked,omitempty" doc:"secrets of files that the model was shown a mask for"`

	Added      int    `json:"added,omitempty" doc:"lines, by this change"`
	Removed    int    `json:"removed,omitempty"`
	AllAdded   int    `json:"all_added,omitempty" doc:"lines, since the job began"`
	AllRemoved int    `json:"all_removed,omitempty"`
	Made       bool   `json:"made,omitempty" doc:"the file was not there when the job began"`
	Deleted    bool   `json:"deleted,omitempty" doc:"the file is not there any more"`
	Before     string `json:"before,omitempty" doc:"the version of the file when the job began, SHA-256 in hexadecimal"`

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
	if len(list) > maxDeeds || sizeOf(list) > maxDeedBytes {
		return []fault.Field{{Loc: at("did"), Type: "too_long"}}
	}
	for i, d := range list {
		if member, typ := d.wrong(); member != "" {
			wrong = append(wrong, fault.Field{Loc: at("did", i, member), Type: typ})
		}
	}
	return wrong
}

func sizeOf(list []Deed) int {
	raw, _ := json.Marshal(list) // it has strings, numbers and flags
	return len(raw)
}

// Phrase returns a deed as a person reads it: «Edita a.go +3 −1», «Ejecuta npm test → 1 · 2 ocultos».
func (d Deed) Phrase() locale.Phrase {
	if d.Masked == 0 {
		return d.phrase()
	}
	return locale.Say("job.deed.masked", "what", d.phrase(), "n", d.Masked)
}

func (d Deed) phrase() locale.Phrase {
	what := d.what()
	switch {
	case d.Refused != "":
		return locale.Say("job.deed.refused", "what", what, "why", locale.Say("job.refused."+string(d.Refused)))
	case d.Failed:
		return locale.Say("job.deed.failed", "what", what)
	case d.Kind == DeedChange && d.Added+d.Removed > 0:
		return locale.Say("job.deed.lines", "what", what, "added", d.Added, "removed", d.Removed)
	case d.Kind == DeedCommand && d.TimedOut:
		return locale.Say("job.deed.late", "what", what)
	case d.Kind == DeedCommand:
		return locale.Say("job.deed.ended", "what", what, "code", d.ExitCode)
	}
	return what
}

// what returns the act and its object.
func (d Deed) what() locale.Phrase {
	key := "job.deed." + string(d.Kind)
	switch {
	case d.Kind == DeedChange && d.Deleted:
		key = "job.deed.delete"
	case d.Kind == DeedChange && d.Made:
		key = "job.deed.make"
	}
	return locale.Say(key, "name", short(d.Name))
}

// Record is what was done for a job, what was refused, and what nobody knows. Lists are bounded: what had no room is
// counted, and each list has its first entry. It has no more than is known: the zero Record is a job that did nothing.
type Record struct {
	Changes  []ChangedFile `json:"changes,omitempty"`
	Commands []RanCommand  `json:"commands,omitempty"` // in their order
	Refused  []Refusal     `json:"refused,omitempty"`  // and not done since
	Unknown  []string      `json:"unknown,omitempty"`  // calls that were left to the client, which did not answer: they may be done
	Plans    int           `json:"plans,omitempty"`    // that changed something
	More     int           `json:"more,omitempty"`     // that had no room
}

// ChangedFile is what became of a file since the job began.
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
}

// Refusal is what was refused, and not done since.
type Refusal struct {
	Kind DeedKind `json:"kind" enum:"read,change,command,plan"`
	What string   `json:"what" doc:"the file, the command line, or the goal of the plan"`
	Code Refused  `json:"code" enum:"nobody,person,unanswered,policy,hidden,outside,unshown,masked,stopped"`
}

// Acted reports whether something was changed for the job, or may have been.
func (r Record) Acted() bool {
	return len(r.Changes)+len(r.Unknown)+r.Plans > 0 || slices.ContainsFunc(r.Commands, func(c RanCommand) bool { return !c.Safe })
}

// Empty reports whether there is nothing to tell.
func (r Record) Empty() bool {
	return len(r.Changes)+len(r.Commands)+len(r.Refused)+len(r.Unknown) == 0
}

// Ended returns the status of a job that ends: it is partial if something was refused, or if something was changed and then
// it failed.
func (r Record) Ended(status Status) Status {
	switch {
	case status == Success && len(r.Refused)+len(r.Unknown) > 0, status == Failed && (r.Acted() || len(r.Refused) > 0):
		return Partial
	}
	return status
}

// Add adds what a call came to. What was refused and is done now is not refused any more.
func (r *Record) Add(deeds ...Deed) {
	for _, d := range deeds {
		name := cut(d.Name, maxListed)
		if d.Refused != "" {
			r.refuse(Refusal{Kind: d.Kind, What: name, Code: d.Refused})
			continue
		}
		if d.Failed {
			continue
		}
		r.Refused = slices.DeleteFunc(slices.Clone(r.Refused), func(f Refusal) bool { return f.Kind == d.Kind && f.What == name })
		switch d.Kind {
		case DeedChange:
			r.change(ChangedFile{name, d.AllAdded, d.AllRemoved, d.Made, d.Deleted, d.Before})
		case DeedCommand:
			if r.fits(commandsRoom, name, len(r.Commands), func(i int) string { return r.Commands[i].Command }) {
				r.Commands = append(r.Commands, RanCommand{name, d.ExitCode, d.TimedOut, d.Safe})
			}
		}
	}
}

// change notes what became of a file. One that was made and is gone again did not change.
func (r *Record) change(c ChangedFile) {
	i := slices.IndexFunc(r.Changes, func(o ChangedFile) bool { return o.Name == c.Name })
	same := c.Made && c.Deleted
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
	if !slices.Contains(r.Refused, f) && r.fits(refusedRoom, f.What, len(r.Refused), func(i int) string { return r.Refused[i].What }) {
		r.Refused = append(r.Refused, f)
	}
}

// RefusePlan notes that a person refused a plan.
func (r *Record) RefusePlan(goal string) {
	r.refuse(Refusal{Kind: DeedPlan, What: cut(goal, maxListed), Code: RefusedPerson})
}

// Planned notes a plan that a person confirmed: what they refused before was replaced by it.
func (r *Record) Planned(changed bool) {
	r.Refused = slices.DeleteFunc(slices.Clone(r.Refused), func(f Refusal) bool { return f.Kind == DeedPlan })
	if changed {
		r.Plans++
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

// unknown returns what is not known of calls that were left to the client: those that change something and were not answered.
func (j Job) unknown() (list []string) {
	for _, c := range j.OpenCalls() {
		writes := slices.ContainsFunc(j.Tools, func(t Tool) bool { return t.Name == c.Name && t.Writes })
		if writes && len(list) < maxDeeds {
			list = append(list, c.Object())
		}
	}
	return list
}

// CloseRecord notes, when the job ends, which calls its client did not answer: nobody knows what they came to.
func (j *Job) CloseRecord() { j.Record.Unknown = j.unknown() }

// Object returns a call and what it is about, as a person reads it: «write_file a.go», «run_command npm test».
func (c OpenCall) Object() string {
	var with map[string]any
	_ = json.Unmarshal([]byte(c.Arguments), &with) // without an object there is only the name
	for _, member := range []string{"path", "command", "pattern", "text", "file", "name", "query", "url"} {
		if text, ok := with[member].(string); ok && strings.TrimSpace(text) != "" {
			return short(c.Name + " " + text)
		}
	}
	if patch, ok := with["patch"].(string); ok {
		var names []string
		for line := range strings.Lines(patch) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "+++ "); ok && len(names) < 3 {
				names = append(names, strings.TrimPrefix(name, "b/"))
			}
		}
		return short(strings.TrimSpace(c.Name + " " + strings.Join(names, ", ")))
	}
	return short(c.Name)
}

// mostShort is how many characters of a name a sentence has.
const mostShort = 160

// short returns a name for a sentence: every character is visible, and a long one is cut.
func short(name string) string {
	runes := []rune(name)
	if len(runes) > mostShort {
		name = string(runes[:mostShort]) + "…"
	}
	return visible.Line(name)
}

// cut returns a text of at most so many bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}

// Phrases returns the record as a person reads it, a line for each entry.
func (r Record) Phrases() (list []locale.Phrase) {
	for _, c := range r.Changes {
		key := "job.record.change"
		switch {
		case c.Deleted:
			key = "job.record.delete"
		case c.Made:
			key = "job.record.make"
		}
		list = append(list, locale.Say(key, "name", short(c.Name), "added", c.Added, "removed", c.Removed))
	}
	for _, c := range r.Commands {
		key := "job.record.command"
		if c.TimedOut {
			key = "job.record.late"
		}
		list = append(list, locale.Say(key, "name", short(c.Command), "code", c.ExitCode))
	}
	for _, f := range r.Refused {
		list = append(list, locale.Say("job.record.refused", "what", f.phrase(), "why", f.Why()))
	}
	for _, u := range r.Unknown {
		list = append(list, locale.Say("job.record.unknown", "what", u))
	}
	if r.More > 0 {
		list = append(list, locale.Say("job.record.more", "n", strconv.Itoa(r.More)))
	}
	return list
}

// phrase returns what was refused.
func (f Refusal) phrase() locale.Phrase {
	return locale.Say("job.deed."+string(f.Kind), "name", short(f.What))
}

// Why returns the reason of a refusal, as a part of a sentence.
func (f Refusal) Why() locale.Phrase { return locale.Say("job.refused." + string(f.Code)) }
