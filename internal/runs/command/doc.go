// Package command classifies shell commands: how dangerous a command is, which steps carry one,
// whether one failed, and which command may replace a failed one.
//
// The package runs no command; the server that a step calls does. A command is read only to decide
// how carefully a person should read it, and the analysis errs on the safe side. A command is
// Sensitive unless it is known to be harmless: an unlisted program, an unlisted flag, a computed
// name or a syntax error make it Sensitive. Only a text whose every part is known to be harmless is
// Safe:
//
//   - It reads, and changes nothing. npm test and make run any line that a file holds,
//     so they are not safe; go test and go vet of the folder's own packages run code of the
//     folder within a time limit, so they are safe, with known options.
//   - It reads only in its own folder, or below paths that are open to all users (/tmp,
//     /var/log, /proc/cpuinfo). Parent folders, home folders and other folders below / hold
//     data of other people. More folders are allowed for listing names only.
//   - It reads no secret, and no file that likely holds one: keys, settings, dumps of
//     databases, lists of people, unlisted hidden files.
//   - It shows no identities and no permissions: accounts, roles, policies, tokens. It may
//     show the user who runs it, and the number of rows of a table.
//   - It ends: sleeps of ten minutes in all, no loop without a limit, nothing that follows
//     a log.
//   - It contacts only hosts for which a client of the folder is configured, and never with the
//     credentials of a person: for a cloud, a cluster or a forge (aws, kubectl, gh), a database
//     (psql, redis-cli), a registry of packages (npm view), or the engine of the containers, which
//     may do anything on the machine (docker ps).
//
// A command that may overwrite a file is Destructive, because nothing here knows whether the file
// exists: a redirection (>, >|, &>), tee, cp, mv, rsync and scp, an option of an output, an in-place
// edit (sed -i), an archive that is unpacked (tar -x). So is mv of several files, or out of the
// folder. A command that appends (>>), or keeps the old file (cp -n, mv --backup, tar -k,
// sed -i.bak), is Sensitive.
//
// The shell text is parsed, and the expanded words are judged: 'rm', r"m" and \rm are one program,
// and so is $X where the same text sets X=rm. Texts that a command passes to another shell (bash
// -c, eval, ssh, find -exec, xargs) are judged too. The text is parsed as bash, and constructs that
// dash or zsh would read as further commands are not safe.
//
// A command of a model is accepted only when it is no more dangerous than the confirmed one, and
// never when it is destructive. It runs only after a person approves it, except for a safe command
// with the same program and the same operands.
package command
