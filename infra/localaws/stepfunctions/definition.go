package stepfunctions

import (
	"strings"
	"time"
)

// A Definition is a state machine that was checked and compiled, so that it can run.
type Definition struct {
	root    *scope
	timeout time.Duration // of the whole execution; 0 means none
}

// A scope is one set of states with a start: the machine itself, a branch of a
// Parallel state, or the processor of a Map state.
type scope struct {
	startAt string
	states  map[string]*state
}

// hasEnd reports whether a state of the scope is terminal.
func (s *scope) hasEnd() bool {
	for _, st := range s.states {
		switch {
		case st.kind == typeSucceed, st.kind == typeFail, st.kind != typeChoice && st.next == "":
			return true
		}
	}
	return false
}

// stateType is the Type of a state.
type stateType string

const (
	typeTask     stateType = "Task"
	typePass     stateType = "Pass"
	typeChoice   stateType = "Choice"
	typeWait     stateType = "Wait"
	typeSucceed  stateType = "Succeed"
	typeFail     stateType = "Fail"
	typeParallel stateType = "Parallel"
	typeMap      stateType = "Map"
)

// A state holds the fields of its type; the others are zero.
type state struct {
	name string
	kind stateType
	next string // empty when the state ends its scope

	input, output  selection
	parameters     *template
	resultSelector *template
	resultPath     *path // nil: the result is dropped (ResultPath null)

	retry []retrier
	catch []catcher

	result   any // of Pass
	literal  bool
	task     *taskFields
	choices  []choiceRule
	fallback string // Default of Choice
	wait     *waitFields
	fail     *failFields
	branches []*scope
	mapping  *mapFields
}

// selection is InputPath or OutputPath: a path, or null for {}.
type selection struct {
	path *path
	null bool
}

type taskFields struct {
	resource   string
	function   string // the ARN when the resource is a function itself
	waitsToken bool
	timeout    seconds
	heartbeat  seconds
}

// seconds is a number of seconds, given or selected by a path; 0 means none.
type seconds struct {
	value int
	path  *path
}

type waitFields struct {
	seconds   seconds
	timestamp time.Time
	path      *path // TimestampPath
}

type failFields struct {
	err, cause         string
	errPath, causePath *expression
}

type mapFields struct {
	processor       *scope
	itemsPath       *path
	itemSelector    *template
	maxConcurrency  int
	concurrencyPath *path
}

// A Diagnostic is one finding about a definition.
type Diagnostic struct {
	Severity string // ERROR
	Code     string // such as SCHEMA_VALIDATION_FAILED
	Message  string
	Location string // JSON pointer; empty when the text is not JSON or there is no finding
}

// DefinitionError lists the reasons why a definition was refused.
type DefinitionError struct {
	Diagnostics []Diagnostic
}

// Error writes the findings as CreateStateMachine does.
func (e *DefinitionError) Error() string {
	var b strings.Builder
	for i, d := range e.Diagnostics {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(d.Code + ": " + d.Message)
		if d.Code == codeMissingEnd {
			b.WriteString(" at null") // the text of AWS for no location
		}
		if d.Location != "" && d.Code != codeInvalidJSON {
			b.WriteString(" at " + d.Location)
		}
	}
	return b.String()
}

// Codes of diagnostics, as AWS names them.
const (
	codeInvalidJSON   = "INVALID_JSON_DESCRIPTION"
	codeSchema        = "SCHEMA_VALIDATION_FAILED"
	codeMissingTarget = "MISSING_TRANSITION_TARGET"
	codeMissingEnd    = "MISSING_END_STATE"
	codeDuplicate     = "DUPLICATE_STATE_NAME"
)

// Parse checks and compiles the Amazon States Language text. Its error is a
// *DefinitionError that names every finding with its JSON pointer.
func Parse(text []byte) (*Definition, error) {
	return (&reader{names: map[string]bool{}}).parse(text)
}
