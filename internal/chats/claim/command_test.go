package claim

import "testing"

// TestClaimsOfAMachineAreComparedWithItsCommands: a text says what only a command does, or shows.
func TestClaimsOfAMachineAreComparedWithItsCommands(t *testing.T) {
	ok := func(line string) Command { return Command{Line: line} }
	bad := func(line string) Command { return Command{Line: line, Code: 1} }
	look := func(line string) Command { return Command{Line: line, Safe: true} }
	edited := Call{Method: "POST", Tool: "edit_file", Sent: `{"path":"a.go","old_str":"x","new_str":"y"}`, Answered: "Edited a.go"}
	for _, c := range []struct {
		text  string
		did   []Call
		ran   []Command
		lacks bool
	}{
		{"Todas pasan, he hecho el commit.", []Call{edited}, nil, true},
		{"He hecho el commit.", []Call{edited}, []Command{ok("npm test")}, true},
		{"He hecho el commit.", nil, []Command{bad("git commit -am x")}, true},
		{"He hecho el commit.", nil, []Command{ok("git commit -am x")}, false},
		{"He commiteado los cambios.", []Call{edited}, nil, true},
		{"I've committed and pushed the changes.", []Call{edited}, []Command{ok("git commit -am x")}, true},
		{"I've committed the changes.", []Call{edited}, []Command{ok("git commit -am x")}, false},
		{"I committed the fix.", []Call{edited}, nil, true},
		{"He creado un commit con los cambios.", []Call{edited}, nil, true},
		{"Falta hacer el commit.", []Call{edited}, nil, false},
		{"No he hecho el commit.", []Call{edited}, nil, false},

		{"Las pruebas pasan.", []Call{edited}, []Command{bad("npm test")}, true},
		{"Las pruebas pasan.", []Call{edited}, []Command{ok("npm test")}, false},
		{"Todas pasan.", []Call{edited}, []Command{bad("npm test"), ok("npm test")}, false},
		{"Todas pasan.", []Call{edited}, []Command{ok("npm test"), bad("npm test")}, true},
		{"Todas las pruebas pasan ahora.", []Call{edited}, nil, true},
		{"All tests pass.", nil, []Command{look("ls")}, true},
		{"All tests pass.", nil, []Command{ok("./ci")}, false},
		{"All tests are passing now.", []Call{edited}, []Command{bad("go test ./...")}, true},
		{"Los tests no pasan.", []Call{edited}, nil, false},
		{"¿Pasan las pruebas?", []Call{edited}, nil, false},
		{"Si las pruebas pasan, lo subo.", []Call{edited}, nil, false},
		{"Las pruebas deberían pasar.", []Call{edited}, nil, false},
		{"He ejecutado las pruebas.", []Call{edited}, nil, true},
		{"He ejecutado las pruebas y falla una.", []Call{edited}, []Command{bad("npm test")}, false},

		{"He editado a.go.", []Call{edited}, nil, false},
		{"He editado a.go.", nil, nil, true},
		{"He editado a.go.", nil, []Command{bad("npm test")}, true},
		{"He borrado los archivos temporales.", nil, []Command{ok("rm -r tmp")}, false},
		{"He borrado los archivos temporales.", []Call{edited}, nil, true},
	} {
		r := NewRecord()
		r.OnMachine(c.ran...)
		for _, call := range c.did {
			r.Did(call)
		}
		lacks := false
		for _, a := range Read(c.text).Acts {
			lacks = lacks || r.Lacks(a, false)
		}
		if lacks != c.lacks {
			t.Errorf("%q after %+v %+v: lacks %v; %+v", c.text, c.did, c.ran, lacks, Read(c.text).Acts)
		}
	}
}

// TestPassingTestsAreNoClaimElsewhere: where no client runs commands nobody could compare it.
func TestPassingTestsAreNoClaimElsewhere(t *testing.T) {
	r := Read("Todas las pruebas pasan.")
	for _, a := range r.Acts {
		if NewRecord().Lacks(a, false) {
			t.Errorf("%+v", a)
		}
	}
	if r.Claims() {
		t.Error("it claims an act")
	}
}
