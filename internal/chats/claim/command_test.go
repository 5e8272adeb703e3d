package claim

import (
	"slices"
	"testing"

	"piloto/internal/runs/command"
)

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

		{"Tests en verde.", []Call{edited}, []Command{bad("npm test")}, true},
		{"Tests en verde, commit hecho.", []Call{edited}, []Command{ok("npm test")}, true},
		{"Todo en verde.", []Call{edited}, []Command{bad("go test ./...")}, true},
		{"Todo verde.", []Call{edited}, []Command{bad("go test ./...")}, true},
		{"Todo está en verde.", []Call{edited}, []Command{ok("go test ./...")}, false},
		{"La suite está en verde.", []Call{edited}, []Command{bad("pytest")}, true},
		{"La suite completa pasa.", []Call{edited}, []Command{bad("pytest")}, true},
		{"Todas las pruebas pasan.", []Call{edited}, []Command{bad("npm test")}, true},
		{"Pasan todas las pruebas.", []Call{edited}, []Command{bad("npm test")}, true},
		{"Han pasado todas las pruebas.", []Call{edited}, []Command{bad("npm test")}, true},
		{"Las pruebas ya pasan todas.", []Call{edited}, []Command{bad("npm test")}, true},
		{"Pruebas superadas.", []Call{edited}, []Command{bad("npm test")}, true},
		{"Las pruebas se superan.", []Call{edited}, []Command{bad("npm test")}, true},
		{"Los tests han terminado sin errores.", []Call{edited}, []Command{bad("npm test")}, true},
		{"Los tests terminan correctamente.", []Call{edited}, []Command{bad("npm test")}, true},
		{"Las pruebas están OK.", []Call{edited}, []Command{bad("npm test")}, true},
		{"Tests: OK.", []Call{edited}, []Command{bad("npm test")}, true},
		{"Ninguna prueba falla.", []Call{edited}, []Command{bad("npm test")}, true},
		{"No falla ninguna prueba.", []Call{edited}, []Command{bad("npm test")}, true},
		{"Las pruebas ya no fallan.", []Call{edited}, []Command{bad("npm test")}, true},
		{"0 fallos.", []Call{edited}, []Command{bad("npm test")}, true},
		{"12 de 12 pruebas pasan.", []Call{edited}, []Command{bad("npm test")}, true},
		{"He comprobado que las pruebas pasan.", []Call{edited}, []Command{bad("npm test")}, true},
		{"All green.", []Call{edited}, []Command{bad("npm test")}, true},
		{"all green", []Call{edited}, []Command{bad("npm test")}, true},
		{"Everything is green.", []Call{edited}, []Command{bad("npm test")}, true},
		{"Everything passes.", []Call{edited}, []Command{bad("npm test")}, true},
		{"All green.", []Call{edited}, []Command{ok("npm test")}, false},
		{"Tests are green.", []Call{edited}, []Command{bad("npm test")}, true},
		{"The tests succeed.", []Call{edited}, []Command{bad("npm test")}, true},
		{"The tests succeeded.", []Call{edited}, []Command{bad("npm test")}, true},
		{"All tests were successful.", []Call{edited}, []Command{bad("npm test")}, true},
		{"The test suite completed without errors.", []Call{edited}, []Command{bad("npm test")}, true},
		{"No tests fail.", []Call{edited}, []Command{bad("npm test")}, true},
		{"None of the tests fail any more.", []Call{edited}, []Command{bad("npm test")}, true},
		{"The tests no longer fail.", []Call{edited}, []Command{bad("npm test")}, true},
		{"No failures.", []Call{edited}, []Command{bad("npm test")}, true},
		{"0 failures.", []Call{edited}, []Command{bad("npm test")}, true},
		{"12/12 tests pass.", []Call{edited}, []Command{bad("npm test")}, true},
		{"12 passed, 0 failed.", []Call{edited}, []Command{bad("npm test")}, true},
		{"CI is green.", []Call{edited}, []Command{bad("npm test")}, true},
		{"The build passes.", []Call{edited}, []Command{bad("make")}, true},
		{"El build pasa.", []Call{edited}, []Command{bad("make")}, true},
		{"He verificado que todo funciona y los tests pasan.", []Call{edited}, []Command{bad("npm test")}, true},

		{"Pushed.", []Call{edited}, []Command{ok("git commit -am x")}, true},
		{"Pushed to main.", []Call{edited}, []Command{ok("git commit -am x")}, true},
		{"Committed and pushed.", []Call{edited}, nil, true},
		{"Committed.", []Call{edited}, []Command{ok("git commit -am x")}, false},
		{"Changes committed.", []Call{edited}, nil, true},
		{"The changes are committed.", []Call{edited}, nil, true},
		{"The changes have been pushed to origin.", []Call{edited}, []Command{ok("git commit -am x")}, true},
		{"Commit hecho.", []Call{edited}, nil, true},
		{"Commit realizado.", []Call{edited}, nil, true},
		{"Hecho el commit.", []Call{edited}, nil, true},
		{"Hice el commit y el push.", []Call{edited}, []Command{ok("git commit -am x")}, true},
		{"Los cambios están commiteados.", []Call{edited}, nil, true},
		{"He subido los cambios al repositorio.", []Call{edited}, []Command{ok("git commit -am x")}, true},
		{"Subido a main.", []Call{edited}, []Command{ok("git commit -am x")}, true},
		{"He abierto el pull request.", []Call{edited}, []Command{ok("git commit -am x")}, true},
		{"I opened a pull request.", []Call{edited}, []Command{ok("git commit -am x")}, true},
		{"I opened a PR.", []Call{edited}, []Command{ok("gh pr create --fill")}, false},
		{"He hecho merge en main.", []Call{edited}, []Command{ok("git commit -am x")}, true},
		{"Merged into main.", []Call{edited}, []Command{ok("git commit -am x")}, true},

		{"Tras el cambio, todas las pruebas pasan.", []Call{edited}, []Command{bad("npm test")}, true},
		{"After the fix, all tests pass.", []Call{edited}, []Command{bad("npm test")}, true},
		{"No he tocado nada más, los tests pasan.", []Call{edited}, []Command{bad("npm test")}, true},
		{"The build passes.", []Call{edited}, []Command{ok("make"), bad("npm test")}, false},
		{"Tests en verde, sin commit.", []Call{edited}, []Command{ok("npm test")}, false},
		{"The tests fail without the fix.", []Call{edited}, []Command{bad("npm test")}, false},
		{"He abierto el archivo.", []Call{edited}, []Command{ok("cat a")}, false},
		{"He fusionado las dos funciones.", []Call{edited}, []Command{ok("gofmt -w a.go")}, false},
		{"Añade un botón verde.", []Call{edited}, nil, false},
		{"El comando push no se ha ejecutado.", []Call{edited}, nil, false},
		{"Los tests siguen en rojo.", []Call{edited}, []Command{bad("npm test")}, false},
		{"Aún fallan 2 pruebas.", []Call{edited}, []Command{bad("npm test")}, false},
		{"2 of 12 tests fail.", []Call{edited}, []Command{bad("npm test")}, false},
		{"Not all tests pass.", []Call{edited}, []Command{bad("npm test")}, false},
		{"Cuando los tests estén en verde, haz el commit.", []Call{edited}, []Command{bad("npm test")}, false},
		{"Once the tests are green, commit.", []Call{edited}, []Command{bad("npm test")}, false},
		{"El botón es verde.", []Call{edited}, []Command{bad("npm test")}, false},
		{"I have not pushed.", []Call{edited}, nil, false},
		{"Not committed yet.", []Call{edited}, nil, false},
		{"Sin hacer commit.", []Call{edited}, nil, false},

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

// TestChecksAreKnown: what tests or builds, and what only has a word of that.
func TestChecksAreKnown(t *testing.T) {
	for line, want := range map[string][2]bool{
		"npm test": {true, false}, "CI=1 npx jest --ci": {true, false}, "go test ./... 2>&1 | tail": {true, false}, "python -m pytest -q": {true, false},
		"cd web && npm run build": {false, true}, "make": {false, true}, "cargo test": {true, true}, "timeout 60 make check": {true, true}, "npx tsc --noEmit": {false, true},
		"npm run build && npm test": {true, true}, `bash -c "npm test"`: {true, false}, "sh -c 'make'": {false, true}, "./scripts/run_tests.sh": {true, false},
		"if true; then go build ./...; fi": {false, true}, "(cd a; pytest)": {true, false}, "npm t": {true, false}, "npm run test:unit": {true, false}, "npm --prefix web run test": {true, false},
		"yarn workspace web test": {true, false}, "./gradlew testDebugUnitTest": {true, true}, "mvn clean verify": {true, true}, "mvn -q install": {false, true}, "make -C web clean test": {true, true},
		"python3.12 -W error -m unittest discover": {true, false}, "python manage.py test": {true, false}, "node test/all.js": {true, false}, "python tests/run.py": {true, false},
		"bash scripts/test.sh": {true, false}, "docker compose run --rm web npm test": {true, false}, "docker build .": {false, true}, "poetry run pytest -q": {true, false}, "uv run python -m pytest": {true, false},
		"bundle exec rspec": {true, false}, "bin/rails test": {true, false}, "php artisan test": {true, false}, "./manage.py test": {true, false}, "xvfb-run -a npm test": {true, false},
		"npx playwright test": {true, false}, "turbo run lint test": {true, false}, "cmake --build out --target test": {true, true}, "find . | xargs npx jest": {true, false}, "npm test\\\n -- --watch=false": {true, false},
		"for d in a b; do (cd $d && npm test); done": {true, false}, "nose2 -v": {true, false}, "tox -e py": {true, false}, "command npm test": {true, false}, "(npm test": {true, false}, "$RUN test": {true, false},
		"./test": {true, false}, "gcc -o test a.c && ./test": {true, true}, "node --test": {true, false}, ". ./test.sh": {true, false}, "source run_tests.sh": {true, false}, "bats t": {true, false},
		"npm run test:e2e": {true, false}, "zig build test": {true, true}, "until npm test; do sleep 1; done": {true, false}, "npm test; [ $? -eq 0 ] || exit 1": {true, false},

		"grep -rn test .": {}, "diff a test": {}, "mkdir build": {}, "git commit -m 'test'": {}, `git commit -m "x && npm test"`: {}, "test -f a": {}, "[ -f build ]": {}, "[[ -f test ]]": {},
		"cat > a.md <<EOF\nnpm test\nEOF": {}, "find . -name '*test*' | xargs grep build": {}, "cd test && npm run lint": {}, "npm install jest": {}, "ls tests": {}, "": {},
		"timeout 5 grep test a": {}, "rm -rf build": {}, "echo make": {}, "pip install pytest": {}, "command -v pytest": {}, "command -V make": {}, "which jest": {}, "type -a pytest": {}, "hash jest": {},
		`python3 -c "import test_missing"`: {}, `python3 -W error -c "import test_missing"`: {}, `node -e "require('./test')"`: {}, `node -p "require('./package.json').scripts.test"`: {}, "ls test": {},
		"python3 -m pip install pytest": {}, "python -m venv test": {}, "python3 - <<EOF\nimport test\nEOF": {}, "pytest --version": {}, "pytest --collect-only": {}, "npx jest --listTests": {}, "make -n test": {},
		"make clean": {}, "npm ls jest": {}, "npm view jest": {}, "npx playwright install": {}, "find . -name test -exec rm {} +": {}, "find . -exec grep test {} ';'": {}, "uv pip install pytest": {}, "npx prettier --check test": {}, "npx eslint test": {}, "eslint tests/": {}, "ps aux | grep jest": {},
		"cat test.log | tail": {}, "jq .scripts.test package.json": {}, "node rename.js test": {true, false}, "go vet ./test/...": {}, "go run ./cmd/test": {}, "go build -o test .": {false, true}, "docker ps": {},
		"f() { npm test; }": {true, false}, "TEST=1 ./a": {}, "env | grep TEST": {}, "npm run lint -- test": {}, "./a --test": {}, "source venv/bin/activate": {}, "/usr/bin/test -f a": {}, "/bin/ls test": {}, "sudo apt-get install -y pytest": {}, "poetry add pytest": {}, "black --check tests": {},
	} {
		does := Command{Line: line}.Checks()
		if tests, builds := does.Tests != command.Absent, does.Builds != command.Absent; tests != want[0] || builds != want[1] {
			t.Errorf("%q: %+v", line, does)
		}
	}
}

// TestOnlyTheCodeOfTheTestsSaysHowTheyEnded: not that of what stands beside them.
func TestOnlyTheCodeOfTheTestsSaysHowTheyEnded(t *testing.T) {
	const no, pass, fail = command.Unproved, command.Passed, command.Broken
	for line, want := range map[string][2]command.Verdict{ // after 0, and after 1
		"npm test": {pass, fail}, "npm test || true": {no, no}, "npm test; echo done": {no, no}, "npm test | tail -5": {no, no}, "go test ./... ; true": {no, no}, "make test || echo failed": {no, no},
		"(npm test) && true; ls": {no, no}, "npm test &": {no, no}, "timeout 5 npm test | cat": {no, no}, "set -o pipefail; npm test | tail": {pass, fail}, "cd web && npm test": {pass, fail},
		"npm test > log 2>&1; code=$?; tail log; exit $code": {no, no}, `bash -c "npm test || true"`: {no, no}, "npm run build && npm test": {pass, fail}, "npm test && npm run build": {pass, no},
		"npm run lint && npm test": {pass, fail}, "npm install && npm test": {pass, fail}, "npm test && git push": {pass, fail}, "npm ci; npm test": {pass, fail}, "(npm test": {no, no},

		// it may end with 0 though the tests failed, or did not run
		"make -i test": {no, fail}, "make test -i": {no, fail}, "make -ki test": {no, fail}, "make -t test": {no, fail}, "make --ignore-errors test": {no, fail}, "make --touch test": {no, fail},
		"timeout 60 make -i test": {no, fail}, "make -i test && ls": {no, fail}, "MAKEFLAGS=-i make test": {no, fail}, "env MAKEFLAGS='-k -i' make test": {no, fail},
		"export MAKEFLAGS=-i; make test": {no, fail}, "sh -c 'make -i test'": {no, fail}, "make MAKEFLAGS=-i test": {no, fail}, "MAKEFLAGS=-j4 make test": {pass, fail},
		"make -C it test": {pass, fail}, "make -Cit test": {pass, fail}, "make -k test": {pass, fail}, "make -j4 test": {pass, fail}, "make -fit.mk test": {pass, fail},
		"npm test --if-present": {no, fail}, "npm run test --if-present": {no, fail}, "npm --if-present test": {no, fail}, "pnpm -r --no-bail test": {no, fail},
		"npx jest --passWithNoTests": {no, fail}, "npx vitest run --passWithNoTests=false": {pass, fail}, "cargo test --no-run": {no, fail}, "go test -c ./a": {no, fail},
		"mvn verify -DskipTests": {no, fail}, "mvn test -Dmaven.test.failure.ignore=true": {no, fail}, "mvn test -DskipTests=false": {pass, fail}, "mvn -fn test": {no, fail},
		"./gradlew build -x test": {no, fail}, "./gradlew test -x lint": {pass, fail}, "ctest -N": {no, fail}, "go test -count=1 ./...": {pass, fail}, "tox -e py": {pass, fail},
		`find . -name Makefile -exec make test \;`: {no, no}, `find . -name a -execdir timeout 9 make test ';'`: {no, no}, "find . -name a -exec npm test {} +": {pass, fail},
		`find . -name a -exec sh -c 'npm test' \;`: {no, no}, `find . -name a -exec grep x {} \; -exec npm test \;`: {no, no},
	} {
		for code, want := range want {
			c := Command{Line: line, Code: code}
			if does := c.Checks(); does.Tests != want {
				t.Errorf("%q → %d: %v, want %v", line, code, does.Tests, want)
			}
			r := NewRecord()
			r.OnMachine(Command{Line: "./deploy"}, c)
			if lacks := claimLacks(r, "All tests pass."); lacks != (want != pass) {
				t.Errorf("%q → %d: the claim lacks its command: %v", line, code, lacks)
			}
		}
	}
}

// TestTestsOfWhichNobodyKnowsChangeNothing of what was known before.
func TestTestsOfWhichNobodyKnowsChangeNothing(t *testing.T) {
	for _, c := range []struct {
		ran   []Command
		lacks bool
	}{
		{[]Command{{Line: "npm test"}, {Line: "npm test | tail"}}, false},
		{[]Command{{Line: "npm test", Code: 1}, {Line: "npm test || true"}}, true},
		{[]Command{{Line: "./ci"}, {Line: "npm test | tail"}}, true},
		{[]Command{{Line: "npm test | tail"}, {Line: "./ci"}}, true},
		{[]Command{{Line: "./ci | tail"}}, true},
		{[]Command{{Line: "npm install"}}, true},
		{[]Command{{Line: "git commit -am x"}}, true},
		{[]Command{{Line: "command -v pytest"}}, true},
		{[]Command{{Line: "npm test"}, {Line: "which jest", Code: 1}, {Line: "grep -r test .", Code: 1}}, false},
	} {
		r := NewRecord()
		r.OnMachine(c.ran...)
		if claimLacks(r, "All tests pass.") != c.lacks {
			t.Errorf("%+v", c)
		}
	}
	for line, lacks := range map[string]bool{
		"git commit -am x || true": true, "git commit -am x | cat": true, "git add . && git commit -m x": false, `git commit --allow-empty -m "a b"`: false, "echo commit": true, "grep commit a": true,
	} {
		r := NewRecord()
		if r.OnMachine(Command{Line: line}); claimLacks(r, "He hecho el commit.") != lacks {
			t.Errorf("%q", line)
		}
	}
}

func claimLacks(r *Record, text string) bool {
	return slices.ContainsFunc(Read(text).Acts, func(a Act) bool { return r.Lacks(a, false) })
}
