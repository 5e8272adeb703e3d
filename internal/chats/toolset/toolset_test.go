package toolset

import (
	"slices"
	"testing"
)

func TestAnAgentThatReadsOnlyProposesNothing(t *testing.T) {
	if got, want := ReadOnly(), []string{Look, Result, Search, Ask}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestToolsOfFilesFollowReadsAndProposals(t *testing.T) {
	for _, c := range []struct {
		may   string
		name  string
		class Class
		want  bool
	}{
		{Look, "read_file", ClassRead, true},
		{Look, "write_file", ClassWrite, false},
		{Request, "write_file", ClassWrite, true},
		{Request, "read_file", ClassRead, false},
		{"write_file", "write_file", ClassWrite, true},
		{"of_client", "of_client", ClassRead, true},
	} {
		if got := Allows(func(name string) bool { return name == c.may }, c.name, c.class); got != c.want {
			t.Errorf("with %s, %s is had: %v", c.may, c.name, got)
		}
	}
}
