package machine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"piloto/cmd/piloto/sandbox"
	"piloto/internal/chats/agent"
)

// A leading is a way from a control file of the person's git to a file that a command may write. All three lines run in
// the workspace, which is a repository: the state before, the line of the command, and the line of the person afterwards.
type leading struct{ had, plant, then string }

const (
	evilFile = `bad() { mkdir -p "$(dirname "$1")"; printf '#!/bin/sh\ntouch "%s"/ran\n' "$MARK" > "$1"; chmod +x "$1"; }
		setting() { printf '[core]\n\tfsmonitor = "touch %s/ran; false"\n' "$MARK" >> "$1"; }
		`
	goodFile = `good() { mkdir -p "$(dirname "$1")"; printf '#!/bin/sh\ntrue\n' > "$1"; chmod +x "$1"; }
		`
	commit = `git commit --allow-empty -m x`
)

// $OUT is a folder elsewhere, and $WIDE one elsewhere that commands may write.
var leadings = map[string]leading{
	"a linked hook":                   {`good tools/pre; ln -s ../../tools/pre .git/hooks/pre-commit`, `bad tools/pre`, commit},
	"a linked hook, another file":     {`good tools/pre; ln -s ../../tools/pre .git/hooks/pre-commit`, `rm -f tools/pre; bad tools/pre`, commit},
	"a linked hook, another folder":   {`good tools/pre; ln -s ../../tools/pre .git/hooks/pre-commit`, `mv tools old; bad tools/pre`, commit},
	"a linked hook without a file":    {`ln -s ../../tools/pre .git/hooks/pre-commit`, `bad tools/pre`, commit},
	"a linked hook over a link":       {`good one/pre; ln -s one tools; ln -s ../../tools/pre .git/hooks/pre-commit`, `rm tools; bad tools/pre`, commit},
	"a linked folder of hooks":        {`rm -rf .git/hooks; mkdir tools; ln -s ../tools .git/hooks`, `bad tools/pre-commit`, commit},
	"a whole link to a hook":          {`good tools/pre; ln -s "$PWD/tools/pre" .git/hooks/pre-commit`, `bad tools/pre`, commit},
	"a hard link of a hook":           {`good tools/pre; ln tools/pre .git/hooks/pre-commit`, `bad tools/pre`, commit},
	"a linked configuration":          {`mkdir tools; mv .git/config tools/; ln -s ../tools/config .git/config`, `setting tools/config`, commit},
	"a linked repository":             {`mv .git store; ln -s store .git`, `setting store/config`, commit},
	"a linked gitdir file":            {`mv .git store; echo "gitdir: store" > file; ln -s file .git`, `cp -r store s2; bad s2/hooks/pre-commit; echo "gitdir: s2" > file`, commit},
	"a link in a hooksPath":           {`good a/b/pre-commit; ln -s a tools; git config core.hooksPath tools/b`, `rm tools; bad new/b/pre-commit; ln -s new tools`, commit},
	"a hooksPath without a folder":    {`git config core.hooksPath .hooks`, `bad .hooks/pre-commit`, commit},
	"a hooksPath in its line":         {`printf '[core] hooksPath = \\\ntools\n' >> .git/config`, `bad tools/pre-commit`, commit},
	"a hooksPath of the person":       {`git config --global core.hooksPath "$PWD/tools"`, `bad tools/pre-commit`, commit},
	"husky":                           {`good .husky/pre-commit; good .husky/_/pre-commit; echo '. "$(dirname "$0")/../pre-commit"' >> .husky/_/pre-commit; git config core.hooksPath .husky/_`, `bad .husky/pre-commit`, commit},
	"what husky calls":                {`good .husky/_/h; good .husky/pre-commit; echo '. .husky/_/h' >> .husky/pre-commit; git config core.hooksPath .husky`, `bad .husky/_/h`, commit},
	"a file system monitor":           {`good tools/watch; git config core.fsmonitor tools/watch`, `bad tools/watch`, commit},
	"a monitor with arguments":        {`good 'tools/a b'; git config core.fsmonitor '"tools/a b" --all'`, `bad 'tools/a b'`, commit},
	"a monitor of a shell":            {`good watch; git config core.fsmonitor 'sh watch'`, `bad watch`, commit},
	"a monitor without a file":        {`git config core.fsmonitor tools/watch`, `bad tools/watch`, commit},
	"a filter":                        {`good tools/clean; git config filter.f.clean 'tools/clean %f'; echo '* filter=f' > .gitattributes`, `bad tools/clean`, `echo x > y; git add y`},
	"a command for ssh":               {`good tools/ssh; git config core.sshCommand "$PWD/tools/ssh -v"`, `bad tools/ssh`, `git fetch ssh://localhost/x`},
	"a helper of credentials":         {`good tools/ask; git config credential.helper "!$PWD/tools/ask"`, `bad tools/ask`, `echo url=https://x | git credential fill`},
	"an alias":                        {`good tools/st; git config alias.st '!$(git rev-parse --show-toplevel)/tools/st'`, `bad tools/st`, `git st`},
	"an alias with a shell":           {`good tools/st; git config alias.st '!sh -c "cd . && tools/st $1" -'`, `bad tools/st`, `git st`},
	"a filter with a script":          {`good tools/clean; git config filter.f.clean 'env sh -e tools/clean %f'; echo '* filter=f' > .gitattributes`, `bad tools/clean`, `echo x > y; git add y`},
	"a configuration for ssh":         {`touch cfg; git config core.sshCommand 'ssh -F ./cfg'`, `printf 'Host *\nProxyCommand touch %s/ran\n' "$MARK" > cfg`, `git fetch ssh://localhost/x`},
	"a linked submodule":              {`mkdir -p .git/modules store; git init --separate-git-dir=store/one m; ln -s ../../store/one .git/modules/one; rm -r m; mv store/one/HEAD store/H; mkdir x; mv store x/`, `mv x/store store; mv store/H store/one/HEAD; bad store/one/hooks/pre-commit`, `mkdir m; echo "gitdir: ../.git/modules/one" > m/.git; cd m; ` + commit},
	"a closed configuration":          {`true`, `git config core.fsmonitor "touch $MARK/ran; false" || exit; chmod 0 .git/config`, `chmod 0644 .git/config; ` + commit},
	"a bare repository above":         {`git init --bare $OUT/..; git -C $OUT/.. config core.hooksPath $WIDE/hooks`, `bad $WIDE/hooks/reference-transaction`, `cd $WIDE; git branch x $(git commit-tree -m x $(git mktree < /dev/null))`},
	"an include of an include":        {`git config include.path ../a; git config --file a include.path b; touch b`, `setting b`, commit},
	"a condition":                     {`git config includeIf.onbranch:x.path ../a; git checkout -b x`, `setting a`, commit},
	"an include of the person":        {`git config --global include.path "$PWD/a"; git config --file a include.path b; touch b`, `setting b`, commit},
	"a linked configuration of home":  {`mv ~/.gitconfig dot; ln -s "$PWD/dot" ~/.gitconfig`, `setting dot`, commit},
	"a further configuration of home": {`mkdir -p ~/.config/git; ln -s "$PWD/dot" ~/.config/git/config`, `setting dot`, commit},
	"no repository":                   {`git config --global include.path "$PWD/a"; rm -rf .git; touch a`, `setting a`, `git init $OUT/n; cd $OUT/n; ` + commit},
	"a template":                      {`git config --global init.templateDir "$PWD/template"; mkdir template`, `bad template/hooks/pre-commit`, `git init $OUT/n; cd $OUT/n; ` + commit},
	"a folder of secrets":             {`mkdir .env.d`, `git init .env.d || { mkdir .env.d/.git; cp -r .git/. .env.d/.git; }; setting .env.d/.git/config`, `cd .env.d; ` + commit},
	"a submodule without files":       {`git init --bare .git/modules/libs/one; git -C .git/modules/libs/one config core.bare false`, `bad .git/modules/libs/one/hooks/pre-commit`, `git init --separate-git-dir=.git/modules/libs/one m; cd m; ` + commit},
	"settings of such a submodule":    {`git init --bare .git/modules/libs/one; git -C .git/modules/libs/one config core.bare false`, `setting .git/modules/libs/one/config`, `git init --separate-git-dir=.git/modules/libs/one m; cd m; ` + commit},
	"a submodule that comes":          {`git init --bare .git/modules/one; mkdir one`, `cp -r .git new; setting new/config; mv new one/.git`, `cd one; ` + commit},
	"a hook of a submodule's setting": {`mkdir .git/modules; git init --separate-git-dir=.git/modules/one one; git -C one config core.hooksPath hooks; rm one/.git`, `bad one/hooks/pre-commit`, `echo "gitdir: ../.git/modules/one" > one/.git; cd one; ` + commit},
	"a worktree elsewhere":            {commit + `; git worktree add $OUT/tree`, `cp -r .git new; setting new/config; echo "$PWD/new" > .git/worktrees/tree/commondir`, `cd $OUT/tree; ` + commit},
	"settings of a worktree":          {commit + `; git worktree add $OUT/tree; git config extensions.worktreeConfig true`, `setting .git/worktrees/tree/config.worktree`, `cd $OUT/tree; ` + commit},
	"hooks of a worktree's setting":   {commit + `; git config extensions.worktreeConfig true; git worktree add trees/one; git -C trees/one config --worktree core.hooksPath h`, `bad trees/one/h/pre-commit`, `cd trees/one; ` + commit},
	"a writable folder":               {`git init $WIDE/a/b`, `mv $WIDE/a $WIDE/old; mkdir -p $WIDE/a/b; cp -r $WIDE/old/b/.git $WIDE/a/b/; setting $WIDE/a/b/.git/config; bad $WIDE/a/b/.git/hooks/pre-commit`, `cd $WIDE/a/b; ` + commit},
	"a hook in a writable folder":     {`git init $WIDE`, `bad $WIDE/.git/hooks/pre-commit`, `cd $WIDE; ` + commit},
	"a repository in one":             {`true`, `mkdir $WIDE/x; cp -r .git $WIDE/x/; setting $WIDE/x/.git/config`, `cd $WIDE/x; ` + commit},
	"hooks in a writable folder":      {`git config core.hooksPath $WIDE/hooks`, `bad $WIDE/hooks/pre-commit`, commit},
	"a repository above one":          {`git init $OUT/..; git -C $OUT/.. config core.hooksPath wide/hooks`, `bad $WIDE/hooks/pre-commit`, `cd $OUT/..; ` + commit},
}

// Guarantee I25. A control file of the person's git may lead to a file that a command can write. The person is told of
// such files that the command left, and git does not run them.
func TestGitRunsNothingThatItIsLedTo(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	confined := sandbox.Check(t.Context()) == nil
	for name, l := range leadings {
		for how, o := range map[string]Options{"confined": {}, "unconfined": {Unconfined: true}, "unguarded": {Unconfined: true}} {
			t.Run(name+" "+how, func(t *testing.T) {
				if how == "confined" && !confined || how != "confined" && testing.Short() {
					t.Skip("there is no sandbox here, or no time")
				}
				elsewhere := t.TempDir()
				mark := filepath.Join(elsewhere, "mark")
				env := map[string]string{"MARK": mark, "OUT": filepath.Join(elsewhere, "out"), "WIDE": filepath.Join(elsewhere, "wide")}
				home := filepath.Join(elsewhere, "home")
				for _, folder := range []string{mark, env["OUT"], env["WIDE"], home} {
					if err := os.Mkdir(folder, 0o755); err != nil {
						t.Fatal(err)
					}
				}
				t.Setenv("HOME", home)
				t.Setenv("XDG_CONFIG_HOME", "")
				git(t, ".", "config", "--global", "user.name", "x")
				git(t, ".", "config", "--global", "user.email", "x@example.com")
				git(t, ".", "config", "--global", "advice.detachedHead", "false")
				o.Mode, o.Commands, o.Env, o.Write = agent.Yolo, true, env, []string{env["WIDE"]}
				m := newMachine(t, o, &person{says: true})
				git(t, m.Root, "init")
				does := func(line string) string {
					c := exec.Command("sh", "-c", line)
					c.Dir, c.Env = m.Root, os.Environ()
					for name, value := range env {
						c.Env = append(c.Env, name+"="+value)
					}
					out, _ := c.CombinedOutput()
					return string(out)
				}
				had := does(goodFile + l.had)
				if how == "unguarded" {
					does(evilFile + l.plant)
				} else {
					had += m.one(t.Context(), "run_command", args{"command": evilFile + l.plant})
				}
				had += does(l.then)
				if marks, _ := filepath.Glob(filepath.Join(mark, "*")); (len(marks) > 0) != (how == "unguarded") || strings.Contains(had, `"error"`) {
					t.Errorf("git ran %q after\n%s", marks, had)
				}
			})
		}
	}
}
