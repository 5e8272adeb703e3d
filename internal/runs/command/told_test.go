package command

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestWhoseCodeItIsIsKnown: a text ends with 0 and with 1, and its tests passed, did not, or nobody knows. b is another program that is
// looked for, and sh runs none.
func TestWhoseCodeItIsIsKnown(t *testing.T) {
	const no, pass, fail = Unproved, Passed, Broken
	for text, want := range map[string][2]Verdict{
		"t": {pass, fail}, "t | tail -5": {no, no}, "t || true": {no, no}, "t; true": {no, no}, "t; echo done": {no, no}, "t &": {no, no}, "t || echo failed": {no, no},
		"t\nls": {no, no}, "(t) && true; ls": {no, no}, "timeout 5 t | cat": {no, no}, "t && echo ok || echo failed": {no, no}, "t; x": {no, no}, "t || x": {no, no},
		"t 2>&1 | tee log | tail": {no, no}, "x $(t)": {no, no}, "echo $(t)": {no, no}, "x <(t)": {no, no}, "if t; then echo ok; fi": {no, no}, "if x; then t; fi": {no, no},
		"while t; do :; done": {no, no}, "t & wait": {no, no}, "export A=$(t)": {no, no}, "for d in a b; do (cd $d && t); done": {no, no}, "x || t": {no, no},
		"bash -c 't; true'": {no, no}, "bash -c 't' || true": {no, no}, "eval 't || true'": {no, no}, "f() { t; true; }; f": {no, no}, "trap 'exit 0' EXIT; t": {no, no},
		"t |& tail": {no, no}, "{ t; ls; }": {no, no}, "t; exit 0": {no, no}, "t; exit": {no, no}, "coproc t": {no, no}, "case x in a) t;; esac": {no, no}, "t | (": {no, no},
		"set -e; t || true": {no, no}, "set -e; t | cat": {no, no}, "set -e; set +e; t; ls": {no, no}, "set -o pipefail; set +o pipefail; t | cat": {no, no},
		"t1 || t2": {no, no}, "t1; t2": {no, no}, "t1 & t2": {no, no}, "until t; do :; done": {no, no}, "t > log; cat log": {no, no}, "t | grep -q FAIL": {no, no},
		"! t | grep FAIL": {no, no}, "t; x; exit $?": {no, no}, "t; a=$?; echo $a": {no, no}, "t | tail; exit $?": {no, no}, "t | tail; exit ${PIPESTATUS[1]}": {no, no},
		"t; wait": {no, no}, "t; (exit 0)": {no, no}, "a=$(t); ls": {no, no}, "local a=$(t)": {no, no},
		"time t; ls": {no, no}, "t || :": {no, no}, "t || exit 0": {no, no}, "sh -c \"$(t)\"": {no, no},

		"x && t": {pass, fail}, "cd web && t": {pass, fail}, "t && echo ok": {pass, fail}, "(t)": {pass, fail}, "{ t; }": {pass, fail}, "x; t": {pass, fail}, "t > log 2>&1": {pass, fail},
		"echo a; t": {pass, fail}, "cat a | t": {pass, fail}, "set -o pipefail; t | tail": {pass, fail}, "set -euo pipefail; t 2>&1 | tee log; ls": {pass, fail}, "set -e\nt\necho": {pass, fail},
		"bash -o pipefail -c 't | cat'": {pass, fail}, "bash -ec 't; ls'": {pass, fail}, "bash -c 't'": {pass, fail}, "sh -c \"cd $D && t\"": {pass, fail}, "bash <<EOF\nt\nEOF": {pass, fail},
		"timeout 5 t": {pass, fail}, "timeout -k 1 5 t": {pass, fail}, "time t": {pass, fail}, "env CI=1 t": {pass, fail}, "CI=1 t": {pass, fail}, "command t": {pass, fail}, "exec t": {pass, fail},
		"nice -n 5 t": {pass, fail}, "sudo -u a t": {pass, fail}, "nohup t": {pass, fail}, "echo a | xargs t": {pass, fail}, "eval t": {pass, fail}, "docker exec app sh -c 't'": {pass, fail}, "docker exec app sh -c 't; ls'": {no, no}, "f() { t; }; f": {no, no},
		"f() { t; return $?; ls; }; f": {no, no}, "t || exit 1; ls": {pass, fail}, "t || exit 1; echo": {pass, fail}, "t || { cat log; exit 3; }": {pass, fail}, "t || false": {pass, fail},
		"t; rc=$?; tail log; exit $rc": {no, no}, `t; rc=$?; tail log; exit "$rc"`: {no, no}, "t | tail; exit ${PIPESTATUS[0]}": {no, no}, "x | t | tail; exit ${PIPESTATUS[1]}": {no, no},
		"rc=0; t || rc=$?; echo $rc; exit $rc": {no, no}, "rc=0; t || rc=1; ls; exit $rc": {no, no}, "t & wait $!": {no, no}, "t & pid=$!; x; wait $pid": {no, no}, "t & wait %1": {no, no},
		"if t; then echo ok; else exit 1; fi": {no, no}, "if ! t; then exit 1; fi": {no, no}, "if x; then t1; else t2; fi": {no, no}, "t; [ $? -eq 0 ] && echo ok": {no, no},
		"t; if [ $? -ne 0 ]; then exit 1; fi; ls": {no, no}, "t; if [[ $? -ne 0 ]]; then exit 1; fi": {no, no}, "for d in a b; do (cd $d && t) || exit 1; done": {no, no},
		"for d in a; do t; done": {no, no}, "set -e; for d in a b; do t; done": {no, no}, "if true; then t; fi": {no, no}, "a=$(t); r=$?; echo $a; exit $r": {no, no}, "a=$(t)": {no, no},
		"t1 && t2": {pass, fail}, "t && x": {pass, fail}, "set -e; t; x": {pass, fail}, "! t": {no, no}, "! t1 && t2": {no, no}, "T=t; $T": {pass, fail}, "t >/dev/null &&\n echo": {pass, fail},
		"x && b && t": {pass, fail}, "case x in a) t;; *) exit 1;; esac": {no, no}, "while x; do t || exit 1; done; ls": {no, no}, "t < <(x)": {pass, fail}, "t <<EOF\nx\nEOF": {pass, fail},

		"break; t": {pass, fail}, "a=; [ $a $a $a ]; t": {pass, fail}, "return 1; t": {pass, fail}, "{ t; } | { exit ${PIPESTATUS[0]}; }": {no, no}, "(f() { t; }); f": {no, no}, "f() { x; }; f() { t; }; f": {no, no}, "t || bash -c 'exit $?'": {no, no},
		"for i in 1 2; do t || break; done": {no, no}, "for i in 1 2; do (t || break); done": {no, no}, "f() { return 1; t; }; f": {no, no}, "if t; then exit 1; fi; exit ${PIPESTATUS[0]}": {no, no},

		"set -e; { t; ls; } && echo ok": {no, no}, "set -e; (t; ls) || exit 1": {no, no}, "set -e; set +o errexit; t; ls": {no, no}, "set -e | cat; t; ls": {no, no}, "x && set -e; t; ls": {no, no},
		"set +o pipefail; t | cat": {no, no}, "set -eo pipefail; t | cat; ls": {pass, fail},

		"t && b": {pass, no}, "set -e; t; b": {pass, no}, "x": {}, "echo t": {}, "x | cat": {}, "command -v t": {}, "which t": {}, "cat <<EOF\nt\nEOF": {}, "x 't; t'": {}, "t() { x; }; t": {no, no}, "": {},
	} {
		sorts := func(words []string) Sorts {
			switch words[0] {
			case "t", "t1", "t2":
				return 1
			case "b":
				return 2
			}
			return 0
		}
		if got := [2]Verdict{Told(text, 0, 1, sorts), Told(text, 1, 1, sorts)}; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestATextIsToldInFewSteps, also one that has too many ways.
func TestATextIsToldInFewSteps(t *testing.T) {
	sorts := func(words []string) Sorts { return Sorts(strings.Count(words[0], "t")) & 1 }
	for _, text := range []string{
		strings.Repeat("x || ", 3_000) + "t", strings.Repeat("if x; then ", 60) + "t" + strings.Repeat("; fi", 60), strings.Repeat("(", 150) + "t" + strings.Repeat(")", 150),
		strings.Repeat("$(", 90) + "t" + strings.Repeat(")", 90), strings.Repeat("a$(x)=1; v=$?; w=$?; x;", 500) + "t", "f() { f; f; t; }; f", strings.Repeat("while x; do ", 40) + "t" + strings.Repeat("; done", 40),
		strings.Repeat("x; a", 20) + "=$?;" + strings.Repeat("x; b=$?; ", 20) + "t", strings.Repeat("t;", 20_000),
	} {
		told := &follower{in: &analysis{text: text, vars: map[string]value{}}, sort: 1, sorts: sorts}
		if told.whole(text, options{}); told.in.spent > 2*perByte*(len(text)+256) {
			t.Errorf("%.40q: %d steps", text, told.in.spent)
		}
	}
}

// TestWhateverTextIsTold: no text makes it fail, also none that only looks like one of a shell.
func TestWhateverTextIsTold(t *testing.T) {
	pieces := strings.Split("t; ;|;&&;||;&;\n;(;);{ ;}; $(;`;[ ; ];[[ ; ]];$a;$?;${PIPESTATUS[0]};a=;if ;then ;fi;while ;do ;done;for i in ;case ; in ;esac;f() ;f;coproc ;exit ;return ;break;set -e;wait ;eval ;exec ;bash -c ;'t';<<E\n;E\n;<<<;<(;trap ;let a=1;((a));export ;!;-eq ;0", ";")
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(append(pieces, ";")), 1, 12).Draw(t, "pieces"), "")
		Told(text, rapid.IntRange(0, 1).Draw(t, "code"), 1, func(words []string) Sorts { return Sorts(len(words[0])) & 1 })
	})
}
