package sandbox

import "golang.org/x/sys/unix"

func init() {
	rightsCalls["chmod"] = func(path string, mode uint32) error {
		return raw(unix.SYS_CHMOD, pointer(path), uintptr(mode), 0, 0)
	}
	rightsCalls["creat"] = func(path string, mode uint32) error {
		return raw(unix.SYS_CREAT, pointer(path+".new"), uintptr(mode), 0, 0)
	}
	rightsCalls["open"] = func(path string, mode uint32) error {
		return raw(unix.SYS_OPEN, pointer(path+".new"), unix.O_CREAT|unix.O_WRONLY, uintptr(mode), 0)
	}
	rightsCalls["mknod"] = func(path string, mode uint32) error {
		return raw(unix.SYS_MKNOD, pointer(path+".node"), uintptr(mode|unix.S_IFREG), 0, 0)
	}
}
