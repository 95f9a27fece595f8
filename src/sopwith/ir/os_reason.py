"""Why the operating system did not do something with a file, in both languages."""

from __future__ import annotations

import errno

from sopwith.errors import Text

_KNOWN = {
    errno.ENOENT: Text("there is no such file", "没有这个文件"),
    errno.EISDIR: Text("it is a folder", "它是文件夹"),
    errno.ENOTDIR: Text("a part of the path is no folder", "路径中有一部分不是文件夹"),
    errno.EEXIST: Text("something else has this name", "已有同名的其他文件"),
    errno.EACCES: Text("no permission", "没有权限"),
    errno.EPERM: Text("no permission", "没有权限"),
    errno.EROFS: Text("the disk is read-only", "磁盘只读"),
    errno.ENOSPC: Text("no space is left on the disk", "磁盘空间不足"),
    errno.ENAMETOOLONG: Text("the name is too long", "名称过长"),
    errno.ELOOP: Text("its links lead in a circle", "链接形成循环"),
}


def os_reason(error: OSError) -> Text:
    """Why, without the path; in the words of the system where it is none of the common reasons."""
    other = error.strerror or str(error)
    return _KNOWN.get(error.errno or 0, Text(other, other))
