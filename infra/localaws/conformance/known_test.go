package main

import (
	"localaws/conformance/machines"
	"localaws/conformance/objects"
	"localaws/conformance/outcome"
	"localaws/conformance/tables"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestKnownDifferencesAreOfChecks(t *testing.T) {
	for _, s := range []suite{ofTables(t), ofObjects(t)} {
		for _, d := range s.known {
			if d.Reason == "" || d.Subject == "" {
				t.Errorf("%+v lacks a reason or a subject", d)
			}
			if !slices.ContainsFunc(s.outcomes, func(o outcome.Outcome) bool { return covers(d, o.Name) }) {
				t.Errorf("there is no check %q", d.Name)
			}
			if d.Subject == "dynalite" && strings.HasSuffix(d.Name, "*") {
				t.Errorf("%q: dynalite is held to exact names", d.Name)
			}
		}
	}
}

func TestKnownDifferencesAreReadByReason(t *testing.T) {
	got, err := readKnown("# a remark\na: no sets\n\tput/x\n\t~put/y\n\nb: nothing\n\tget/*\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []outcome.Difference{
		{Subject: "a", Name: "put/x", Reason: "no sets"}, {Subject: "a", Name: "~put/y", Reason: "no sets"}, {Subject: "b", Name: "get/*", Reason: "nothing"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if _, err := readKnown("no reason here\n"); err == nil {
		t.Error("a line without a reason was taken")
	}
}

// TestResultsAreOfTheseChecks: results.md has every check, in which the engines here fail none, and what is known to fail.
func TestResultsAreOfTheseChecks(t *testing.T) {
	raw, err := os.ReadFile("results.md")
	if err != nil {
		t.Fatal(err)
	}
	results := string(raw)
	for _, s := range []suite{ofTables(t), ofMachines(t), ofObjects(t)} {
		if !strings.Contains(results, "- "+strings.TrimSuffix(s.totals(), ".")) {
			t.Errorf("results.md lacks the total %q: write it again with -update", s.totals())
		}
		for row := range strings.Lines(s.table()) {
			if !strings.Contains(results, strings.TrimSuffix(row, "\n")) {
				t.Errorf("results.md lacks %q: write it again with -update", row)
			}
		}
		for _, d := range s.known { // what moto fails depends on its version and on the moment
			if d.Subject == "dynalite" && !strings.HasPrefix(d.Name, "~") && !strings.Contains(results, "  - "+code(d.Name)+"\n") {
				t.Errorf("results.md does not say that dynalite fails %q: write it again with -update", d.Name)
			}
			if d.Subject == "dynalite" && !strings.Contains(results, "- "+d.Reason+" (") {
				t.Errorf("results.md lacks the reason %q: write it again with -update", d.Reason)
			}
		}
	}
	if !strings.HasPrefix(results, strings.SplitAfter(document(nil, ""), "-->")[0]) {
		t.Error("results.md does not begin as it is written now")
	}
}

func ofTables(t *testing.T) suite {
	t.Helper()
	s := suite{title: "Tables (DynamoDB)", subjects: []string{"localaws"}, known: known(t, knownText)}
	for _, c := range tables.Checks() {
		s.outcomes = append(s.outcomes, outcome.Outcome{Area: c.Area, Name: c.Area + "/" + c.Name})
	}
	return s
}

func ofMachines(t *testing.T) suite {
	t.Helper()
	cases, err := machines.Cases()
	if err != nil {
		t.Fatal(err)
	}
	s := suite{title: "Machines (Step Functions)", subjects: []string{"localaws"}, known: machines.Known()}
	for _, c := range cases {
		o := outcome.Outcome{Area: c.Topic, Name: c.ID()}
		if c.Virtual != "" {
			o.Skipped = map[string]string{"localaws": c.Virtual}
		}
		s.outcomes = append(s.outcomes, o)
	}
	return s
}

func ofObjects(t *testing.T) suite {
	t.Helper()
	s := suite{title: "Objects (S3)", subjects: []string{"localaws"}, known: known(t, knownObjectsText)}
	for _, c := range objects.Checks() {
		s.outcomes = append(s.outcomes, outcome.Outcome{Area: c.Area, Name: c.Area + "/" + c.Name})
	}
	return s
}

func known(t *testing.T, text string) []outcome.Difference {
	t.Helper()
	list, err := readKnown(text)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestSurprisesAreNewFailuresAndNewPasses(t *testing.T) {
	known := []outcome.Difference{
		{Subject: "a", Name: "listed"},
		{Subject: "a", Name: "better"},
		{Subject: "a", Name: "~wavering"},
		{Subject: "a", Name: "area/*"},
		{Subject: "a", Name: "renamed"},
		{Subject: "b", Name: "failing"},
		{Subject: "a", Name: "left out"},
	}
	failed := map[string]string{"a": "why"}
	got := surprises("a", []outcome.Outcome{
		{Name: "listed", Failed: failed},
		{Name: "better"},
		{Name: "wavering"},
		{Name: "area/one"},
		{Name: "area/two", Failed: failed},
		{Name: "failing", Failed: failed},
		{Name: "fine"},
		{Name: "left out", Skipped: map[string]string{"a": "needs time"}},
	}, known)
	want := []string{"a newly passes better", "a newly fails failing:\n\twhy", "there is no check renamed, which a is said to fail"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTableCountsRunChecks(t *testing.T) {
	s := suite{title: "Things", subjects: []string{"a", "b"}, outcomes: []outcome.Outcome{
		{Area: "x", Name: "1", Failed: map[string]string{"b": "no"}}, {Area: "y", Name: "2", Skipped: map[string]string{"b": "slow"}},
	}}
	want := "| Things | a | b |\n|---|---:|---:|\n| x | 1/1 | 0/1 |\n| y | 1/1 | 0/0 |\n| **all** | 2/2 | 0/1 |\n"
	if got := s.table(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if d := s.differences(); !strings.Contains(d, "not explained yet (1):\n  - `` 1 ``") {
		t.Errorf("differences are\n%s", d)
	}
}
