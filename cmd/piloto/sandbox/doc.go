// Package sandbox runs the commands of a model on the machine of a person, and decides which of them need a yes.
//
// # The environment of a command
//
// A command runs in namespaces of its own (user, mount, process, network, IPC, host name) below a new root:
//
//   - The folder of the workspace can be written, except its .git. Command.Protect hides its secrets, has masked copies
//     read instead of the files that usually have some, closes the control files of git in it, and returns a Guard, which
//     moves away new ones that the command left. The folders above closed files cannot be renamed or removed. The same
//     holds for the control files of git in the folders of Command.Write. Git takes a file that has a copy as unchanged,
//     and a changed copy is carried over to the file.
//   - Programs and libraries of the system, and the paths of Command.ReadOnly, can be read.
//   - HOME and TMPDIR are in memory, at most 2 GiB, and vanish with the command.
//   - Nothing else exists there: no home folder, no socket of a daemon, no process of the person.
//   - There is a loopback interface of its own, and no other network.
//   - The environment is PATH, HOME, TMPDIR, LANG and the variables of Command.Env. Standard input is empty.
//
// Control files of git are the programs that git runs, such as hooks, and the files by which it finds them: a .git, a
// gitdir file, a link to one, a bare repository, and a configuration.
//
// Landlock forbids the same writes a second time, because a mistake in one wall should not open the other. A seccomp
// filter refuses the sockets that no namespace holds back (vsock, bluetooth), io_uring, the keyring, and setuid and setgid
// bits. The command has no capability and cannot get one. Limits of the kernel hold for processes, open files and the
// size of a file. Memory has no limit; the kernel ends a command first when memory runs out.
//
// The first process of the process namespace is this program, started again: Main does its work. It dies at the
// deadline, when the context ends, and when Piloto dies. The kernel then kills every process of the namespace.
//
// Check reports whether the kernel of this machine allows all that. Run refuses where it does not, unless
// Command.Unconfined is set. An unconfined command still has a deadline, the same environment, an empty standard
// input and a bounded output; its process group is killed. It can read and write the files of the person, dial out, and
// leave a process of another session behind.
//
// # Copies in the view of git
//
// Commands read an index of git in which the files that have a copy are unchanged, if they are. With .git in Command.Write
// no copy is staged or committed by git add and git commit as they are. These cannot be marked, are compared by the copy,
// and may be staged: a file in a conflict or of which only the name is staged, a split index, an index that the line makes
// anew (git read-tree, rm .git/index, GIT_INDEX_FILE), git add -f of a file that git does not know, git add --renormalize.
// The person is told which copies git has then.
//
// # Which commands need a yes
//
// Policy judges each line by its class (package command of internal/runs). A dev command is one that the workspace
// lists, such as "go test" or "npm run": it is a class inside of sensitive.
//
//	mode               safe   dev    sensitive   destructive
//	confirm-all        ask    ask    ask         ask
//	confirm-sensitive  run    ask    ask         ask
//	yolo               run    run    ask         ask
//
// Programs that run code of the workspace or read the history of a repository (go, git) are never safe here, and without
// a sandbox nothing is. Policy.AllowedOnly refuses sensitive commands that are not dev, and destructive ones, in every
// mode.
package sandbox
