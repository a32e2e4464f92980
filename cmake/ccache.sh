#!/bin/sh
# The compiler behind ccache, which then also serves other checkouts on this machine and files with a precompiled header.
export CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
export CCACHE_BASEDIR="${0%/cmake/ccache.sh}"
exec ccache "$@"
