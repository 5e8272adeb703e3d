// Package command owns what Piloto knows of shell commands: how dangerous one is,
// which steps carry one, whether one failed, and what other command may stand in
// for one that did.
//
// Nothing here runs a command: that is what the server does that a step calls. A
// command is read only to say how much a person should look at it, and the reading
// errs to one side. Whatever is not known to be harmless is Sensitive: a program of
// no list, a flag of no list, a name that is computed, a text that does not parse.
// Only a text whose every part is known to be harmless is Safe:
//
//   - It reads, and changes nothing. npm test and make run whatever line a file holds,
//     so they are not; go test and go vet of the folder's own packages run code of the
//     folder with a bound of time, so they are, with options that are known.
//   - What it reads is in the folder that it works in, or open to everybody (/tmp,
//     /var/log, /proc/cpuinfo). Above it, in a home, and elsewhere below / are other
//     people's things. Only to list names is allowed in more places.
//   - It is no secret and likely holds none: keys, settings, dumps of databases, lists
//     of people, hidden files of no list.
//   - It tells nobody's identity, and no rights: accounts, roles, policies, tokens.
//     Who runs it, and how many rows a table has, may be told.
//   - It ends: sleeps of ten minutes in all, no loop without a bound, nothing that follows
//     a log.
//   - It asks no host but those that a client of the folder is set up for.
//
// The shell is parsed, and what it would see is what is judged: 'rm', r"m" and \rm
// are one program, and so is $X where the same text says X=rm. Texts that a command
// hands to another shell (bash -c, eval, ssh, find -exec, xargs) are judged too. It is
// parsed as bash, and what dash or zsh would take for more commands is not safe.
//
// Another command is accepted from a model only when it is no more dangerous than
// what a person has confirmed, and never when it destroys; and it is run only when a
// person approved it, but for a safe one that is the same program on the same operands.
package command
