"""The grader as frameworks of program search call it, a file each. None of them imports its framework unless that is there."""
