package main

import (
	"localaws/conformance/objects"
	"localaws/conformance/outcome"
	"localaws/conformance/tables"
	"slices"
	"strings"
	"testing"
)

func TestKnownDifferencesAreOfChecks(t *testing.T) {
	var ofTables, ofObjects []string
	for _, c := range tables.Checks() {
		ofTables = append(ofTables, c.Area+"/"+c.Name)
	}
	for _, c := range objects.Checks() {
		ofObjects = append(ofObjects, c.Area+"/"+c.Name)
	}
	for text, checks := range map[string][]string{knownText: ofTables, knownObjectsText: ofObjects} {
		knownAreOf(t, text, checks)
	}
}

func knownAreOf(t *testing.T, text string, checks []string) {
	t.Helper()
	known, err := readKnown(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range known {
		if d.Reason == "" || d.Subject == "" {
			t.Errorf("%+v lacks a reason or a subject", d)
		}
		if !slices.ContainsFunc(checks, func(name string) bool { return covers(d, name) }) {
			t.Errorf("there is no check %q", d.Name)
		}
		if d.Subject == "dynalite" && strings.HasSuffix(d.Name, "*") {
			t.Errorf("%q: dynalite is held to exact names", d.Name)
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
