package command

import (
	"slices"
	"testing"
)

func TestPlainsAreCommandsWithKnownWords(t *testing.T) {
	for text, want := range map[string][]string{
		"go test ./...":                      {"go test ./..."},
		"cd web && npm test 2>&1 | tail -20": {"cd web", "npm test", "tail -20"},
		"pytest -k 'a b'; echo \"done now\"": {"pytest -k 'a b'", "echo \"done now\""},
		"go vet ./... >/dev/null || true":    {"go vet ./...", "true"},
		"go test ./... &>/dev/null\nls":      {"go test ./...", "ls"},
		"go test $PKG":                       nil,
		"go test $(cat x)":                   nil,
		"go test `cat x`":                    nil,
		"go test \"$X\"":                     nil,
		"go test $'\\x3b'":                   nil,
		"go test <(ls)":                      nil,
		"go te\\st":                          nil,
		"X=1 go test":                        nil,
		"X=1":                                nil,
		"go test > out":                      nil,
		"go test >> out":                     nil,
		"go test 2> out":                     nil,
		"go test < in":                       nil,
		"go test <<< x":                      nil,
		"go test &":                          nil,
		"! go test":                          nil,
		"(go test)":                          nil,
		"{ go test; }":                       nil,
		"if true; then go test; fi":          nil,
		"go() { rm x; }; go test":            nil,
		"export X=1; go test":                nil,
		"go test 2>&1 >&out":                 nil,
		"go test 'x":                         nil,
		"":                                   nil,
		"# go test":                          nil,
	} {
		list, ok := Plains(text)
		var got []string
		for _, p := range list {
			got = append(got, p.Text)
		}
		if ok != (want != nil) || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v, want %q", text, got, ok, want)
		}
	}
	list, _ := Plains(`pytest -k 'a b' "c d" e'f'`)
	if want := []string{"pytest", "-k", "a b", "c d", "ef"}; len(list) != 1 || !slices.Equal(list[0].Words, want) {
		t.Errorf("got %q, want %q", list, want)
	}
}
